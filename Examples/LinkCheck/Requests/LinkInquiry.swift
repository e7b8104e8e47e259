import CompositeOperations
import Foundation

/// Decides, reply by reply, how to find out whether a link is good. It makes no requests itself.
///
/// HEAD comes first, GET where the server refuses HEAD. Redirects are followed one by one. Replies
/// and failures that may pass are faults, after which it can be asked again.
struct LinkInquiry: Sendable {
  enum Step: Equatable, Sendable {
    case request(Request.Method, URL)
    case conclude(Verdict)
    case fail(PassingFault)
  }

  /// A server that asks for a longer pause is not asked again.
  private static let longestRetryAfter = Duration.seconds(60)
  private static let maxRedirects = 10

  private var url: URL
  private var method = Request.Method.head
  private var visited: [URL]

  init(_ url: URL) {
    self.url = url
    visited = [url]
  }

  /// The request to make now: at the beginning and after a fault.
  var request: Step { .request(method, url) }

  /// What to do after a reply.
  mutating func next(after reply: Reply) -> Step {
    switch reply.status {
    case 200...300, 304: .conclude(.good(redirects: visited.dropFirst().map(\.absoluteString)))
    // The one byte that a GET asks for is more than an empty page has.
    case 416 where method == .get: .conclude(.good(redirects: visited.dropFirst().map(\.absoluteString)))
    case 301, 302, 303, 307, 308: redirect(reply)
    case 429: fault(reply, keepsMethod: true)
    case 501 where method == .head, 400..<500 where method == .head: get()
    case 500...: fault(reply, keepsMethod: false)
    default: .conclude(broken(reply))
    }
  }

  /// What to do when no reply came.
  mutating func next(after error: TransportError) -> Step {
    let reason = error.reason + place
    let verdict = error.kind == .unreachable ? Verdict.unreachable(reason: reason) : .broken(reason: reason)
    guard error.kind != .lasting else { return .conclude(verdict) }
    method = .get
    return .fail(PassingFault(reason: error.reason, verdict: verdict))
  }

  /// Some servers know only GET, and say so in many ways.
  private mutating func get() -> Step {
    method = .get
    return request
  }

  /// - Parameter keepsMethod: A server that fails may fail at HEAD only, and is asked with GET from
  ///   then on. One that is merely busy is left with the cheaper method.
  private mutating func fault(_ reply: Reply, keepsMethod: Bool) -> Step {
    guard reply.retryAfter ?? .zero <= LinkInquiry.longestRetryAfter else { return .conclude(broken(reply)) }
    if !keepsMethod { method = .get }
    return .fail(
      PassingFault(
        reason: Reply.description(of: reply.status), retryAfter: reply.retryAfter, verdict: broken(reply)))
  }

  private mutating func redirect(_ reply: Reply) -> Step {
    guard let location = reply.location, !location.isEmpty else {
      return .conclude(
        .broken(reason: Reply.description(of: reply.status) + ", but not where to" + place, status: reply.status))
    }
    guard let target = URL(string: location, relativeTo: url)?.absoluteString else {
      return .conclude(.broken(reason: "redirects to \(location), which is no valid address", status: reply.status))
    }
    guard case .web(let next) = LinkTarget(target) else {
      return .conclude(.broken(reason: "redirects to \(target), which is no web address", status: reply.status))
    }
    guard !visited.contains(next) else {
      return .conclude(.broken(reason: "redirects in a circle, by way of \(next.absoluteString)", status: reply.status))
    }
    guard visited.count <= LinkInquiry.maxRedirects else {
      return .conclude(.broken(reason: "more than \(LinkInquiry.maxRedirects) redirects", status: reply.status))
    }
    visited.append(next)
    url = next
    return request
  }

  private func broken(_ reply: Reply) -> Verdict {
    var reason = Reply.description(of: reply.status)
    if let wanted = reply.retryAfter, wanted > LinkInquiry.longestRetryAfter {
      reason += ", to be asked again in \(wanted.inSeconds) only"
    }
    return .broken(reason: reason + place, status: reply.status)
  }

  /// Where a fault was met, when it was not at the link itself.
  private var place: String {
    guard visited.count > 1 else { return "" }
    return " at \(url.absoluteString), after \(visited.count - 1) redirect\(visited.count > 2 ? "s" : "")"
  }
}

/// A link cannot be judged now, and may be asked for again.
struct PassingFault: Error, Equatable {
  let reason: String
  /// How long the server asks to be left alone.
  var retryAfter: Duration?
  /// The verdict if the link is not asked for again.
  let verdict: Verdict
}
