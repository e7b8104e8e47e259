import Foundation
import Testing

@testable import LinkCheck

@Suite struct LinkInquiryTests {
  private let start = URL(string: "http://a.org/x")!

  private func inquiry() -> LinkInquiry { LinkInquiry(start) }

  private func fault(_ reason: String, retryAfter: Duration? = nil, _ verdict: Verdict) -> LinkInquiry.Step {
    .fail(PassingFault(reason: reason, retryAfter: retryAfter, verdict: verdict))
  }

  @Test(arguments: [200, 204, 206, 304])
  func good_afterASuccess(_ status: Int) {
    var inquiry = inquiry()
    #expect(inquiry.request == .request(.head, start))
    #expect(inquiry.next(after: Reply(status: status)) == .conclude(.good()))
  }

  @Test func get_afterHeadWasRefused_onlyOnce() {
    var inquiry = inquiry()
    #expect(inquiry.next(after: Reply(status: 405)) == .request(.get, start))
    #expect(
      inquiry.next(after: Reply(status: 405)) == .conclude(.broken(reason: "405 method not allowed", status: 405)))
  }

  @Test func get_thatAsksForMoreThanAnEmptyPageHas_isGood() {
    var inquiry = inquiry()
    _ = inquiry.next(after: Reply(status: 404))
    #expect(inquiry.next(after: Reply(status: 416)) == .conclude(.good()))
  }

  @Test func fault_ofAServer_isAskedForAgainWithGet() {
    var inquiry = inquiry()
    #expect(
      inquiry.next(after: Reply(status: 503))
        == fault("503 service unavailable", .broken(reason: "503 service unavailable", status: 503)))
    #expect(inquiry.request == .request(.get, start))
  }

  @Test func retryAfter_isPartOfTheFault_unlessItIsTooLong() {
    var inquiry = inquiry()
    #expect(
      inquiry.next(after: Reply(status: 429, retryAfter: .seconds(60)))
        == fault(
          "429 too many requests", retryAfter: .seconds(60), .broken(reason: "429 too many requests", status: 429)))
    #expect(inquiry.request == .request(.head, start))
    #expect(
      inquiry.next(after: Reply(status: 429, retryAfter: .seconds(61)))
        == .conclude(.broken(reason: "429 too many requests, to be asked again in 61 s only", status: 429)))
  }

  @Test func transportErrors_areFaults_unlessTheyLast() {
    for kind in [TransportError.Kind.unreachable, .noAnswer] {
      var inquiry = inquiry()
      let verdict = kind == .unreachable ? Verdict.unreachable(reason: "why") : .broken(reason: "why")
      #expect(inquiry.next(after: TransportError(kind: kind, reason: "why")) == fault("why", verdict))
      #expect(inquiry.request == .request(.get, start))
    }
    var lasting = inquiry()
    #expect(
      lasting.next(after: TransportError(kind: .lasting, reason: "why")) == .conclude(.broken(reason: "why")))
  }

  @Test func fault_afterARedirect_isAskedForAgainWhereItWas() {
    var inquiry = inquiry()
    let next = URL(string: "http://b.org/y")!
    #expect(inquiry.next(after: Reply(status: 302, location: "http://b.org/y#z")) == .request(.head, next))
    #expect(
      inquiry.next(after: Reply(status: 503))
        == fault(
          "503 service unavailable",
          .broken(reason: "503 service unavailable at http://b.org/y, after 1 redirect", status: 503)))
    #expect(inquiry.request == .request(.get, next))
  }

  @Test(arguments: [
    ("/y", "http://a.org/y"), ("y", "http://a.org/y"), ("?q", "http://a.org/x?q"), ("//b.org", "http://b.org/"),
    ("https://b.org/y#z", "https://b.org/y"), ("../y", "http://a.org/y"), ("http://A.org:80/y", "http://a.org/y"),
  ])
  func redirect_isFollowedFromWhereItWasMet(_ location: String, _ target: String) {
    var inquiry = inquiry()
    #expect(
      inquiry.next(after: Reply(status: 301, location: location)) == .request(.head, URL(string: target)!))
    #expect(inquiry.next(after: Reply(status: 200)) == .conclude(.good(redirects: [target])))
  }

  @Test func redirects_areFollowedTenTimes() {
    var inquiry = inquiry()
    for hop in 1...10 {
      #expect(
        inquiry.next(after: Reply(status: 308, location: "/\(hop)"))
          == .request(.head, URL(string: "http://a.org/\(hop)")!))
    }
    #expect(
      inquiry.next(after: Reply(status: 308, location: "/11"))
        == .conclude(.broken(reason: "more than 10 redirects", status: 308)))
  }
}
