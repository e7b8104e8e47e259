import Foundation
import HTTPOperations
import Testing

@Suite("Retry-After") struct RetryAfterTests {
  private func pause(_ text: String?, date: String? = "Sun, 06 Nov 1994 08:49:37 GMT") -> Duration? {
    var headers: HTTPHeaders = [:]
    headers["Retry-After"] = text
    headers["Date"] = date
    return HTTPStatusError(status: 503, headers: headers).retryAfter
  }

  @Test func seconds_areRead() {
    #expect(pause("120") == .seconds(120) && pause(" 0 ") == .zero)
    #expect(pause("99999999999999999999") == pause("99999999") && pause("99999999")! > .seconds(1_000_000))
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994",
  ])
  func dates_countFromTheAnswersOwn(_ date: String) {
    #expect(pause(date) == .seconds(30))
  }

  @Test func dates_inThePast_areNow() {
    #expect(pause("Sat, 05 Nov 1994 08:49:37 GMT") == .zero)
    #expect(pause("Sat, 05 Nov 1994 08:49:37 GMT", date: nil) == .zero)
  }

  @Test func dates_acrossMonthsAndLeapDays() {
    #expect(pause("Fri, 01 Mar 2024 00:00:00 GMT", date: "Wed, 28 Feb 2024 00:00:00 GMT") == .seconds(2 * 86_400))
    #expect(pause("Wed, 01 Mar 2023 00:00:00 GMT", date: "Tue, 28 Feb 2023 00:00:00 GMT") == .seconds(86_400))
    #expect(pause("Mon, 01 Jan 2001 00:00:00 GMT", date: "Sun, 31 Dec 2000 23:59:59 GMT") == .seconds(1))
  }

  @Test func dates_withoutTheAnswersOwn_countFromNow() throws {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    let found = pause(format.string(from: Date(timeIntervalSinceNow: 100_000)), date: nil)
    let wait = try #require(found)
    #expect(wait > .seconds(50_000) && wait <= .seconds(100_001))
  }

  /// Dates of HTTP are in GMT. A server that means another zone has not said when.
  @Test(arguments: [
    "Sun, 06 Nov 1994 09:50:07 +0100", "Sun, 06 Nov 1994 03:50:07 -0500", "Sun, 06 Nov 1994 03:50:07 EST",
    "Sunday, 06-Nov-94 09:50:07 CET", "Sun Nov  6 03:50:07 EST 1994", "Sun Nov  6 09:50:07 1994 +0100",
    "Sun, 06 Nov 1994 08:50:07 GMT+1", "Sun, 06 Nov 1994 08:50:07",
  ])
  func dates_ofAnotherZone_areNothing(_ date: String) {
    #expect(pause(date) == nil)
  }

  @Test(arguments: ["Sun, 06 Nov 1994 08:50:07 UTC", "Sun, 06 Nov 1994 08:50:07 gmt", "Sun, 06-Nov-1994 08:50:07 GMT"])
  func dates_thatMeanGMT_areRead(_ date: String) {
    #expect(pause(date) == .seconds(30))
  }

  @Test func date_ofTheAnswer_ofAnotherZone_doesNotCount() {
    #expect(pause("Sat, 05 Nov 1994 08:49:37 GMT", date: "Fri, 04 Nov 1994 08:49:37 EST") == .zero)
  }

  @Test(arguments: [nil, "", "soon", "-1", "1.5", "Sun, 06 Nov 1994", "Sun, 06 Xyz 1994 08:49:37 GMT", "12:00:00", "٣"])
  func anythingElse_isNothing(_ text: String?) {
    #expect(pause(text) == nil)
  }
}
