import CompositeOperations
import Foundation

/// Decides, reply by reply, how to find out whether a link is good. It asks nobody itself.
///
/// HEAD comes first, GET where the server refuses HEAD. Redirects are followed one by one. Replies and failures that
/// may pass are asked for again after a pause.
struct LinkInquiry: Sendable {
  struct Policy: Sendable {
    var retries: Int
    var firstPause: Duration
    /// No pause of our own is longer.
    var longestPause = Duration.seconds(30)
    /// Who asks for a longer one is not asked again.
    var longestRetryAfter = Duration.seconds(60)
    var maxRedirects = 10
  }

  enum Step: Equatable, Sendable {
    case request(Request.Method, URL)
    case pause(Duration, reason: String)
    case conclude(Verdict)
  }

  private let policy: Policy
  private var url: URL
  private var method = Request.Method.head
  private var visited: [URL]
  private var retries = 0

  init(_ url: URL, policy: Policy) {
    self.url = url
    self.policy = policy
    visited = [url]
  }

  /// The request to make now: at the beginning and after a pause.
  var request: Step { .request(method, url) }

  /// What to do after a reply.
  mutating func next(after reply: Reply) -> Step {
    switch reply.status {
    case 200...300, 304: .conclude(.good(redirects: visited.dropFirst().map(\.absoluteString)))
    // The one byte that a GET asks for is more than an empty page has.
    case 416 where method == .get: .conclude(.good(redirects: visited.dropFirst().map(\.absoluteString)))
    case 301, 302, 303, 307, 308: redirect(reply)
    case 429: retryLater(reply, keepsMethod: true)
    case 501 where method == .head, 400..<500 where method == .head: get()
    case 500...: retryLater(reply, keepsMethod: false)
    default: .conclude(broken(reply))
    }
  }

  /// What to do when no reply came.
  mutating func next(after error: TransportError) -> Step {
    if error.kind != .lasting, let pause = retry(after: nil, error.reason, keepsMethod: false) { return pause }
    let reason = error.reason + place
    return .conclude(error.kind == .unreachable ? .unreachable(reason: reason) : .broken(reason: reason))
  }

  /// Some servers know only GET, and say so in many ways.
  private mutating func get() -> Step {
    method = .get
    return request
  }

  private mutating func retryLater(_ reply: Reply, keepsMethod: Bool) -> Step {
    let reason = Reply.description(of: reply.status)
    return retry(after: reply.retryAfter, reason, keepsMethod: keepsMethod) ?? .conclude(broken(reply))
  }

  /// A pause before the next attempt; nil when there were enough, or when the server asks for too long a pause.
  ///
  /// - Parameter keepsMethod: A server that fails may fail at HEAD only, and is asked with GET from then on. One that
  ///   is merely busy is left with the cheaper method.
  private mutating func retry(after wanted: Duration?, _ reason: String, keepsMethod: Bool) -> Step? {
    guard retries < policy.retries, wanted ?? .zero <= policy.longestRetryAfter else { return nil }
    let own = min(policy.firstPause * (1 << min(retries, 20)), policy.longestPause)
    retries += 1
    if !keepsMethod { method = .get }
    return .pause(wanted ?? own, reason: reason)
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
    guard visited.count <= policy.maxRedirects else {
      return .conclude(.broken(reason: "more than \(policy.maxRedirects) redirects", status: reply.status))
    }
    visited.append(next)
    url = next
    return request
  }

  private func broken(_ reply: Reply) -> Verdict {
    var reason = Reply.description(of: reply.status)
    if let wanted = reply.retryAfter, wanted > policy.longestRetryAfter {
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
