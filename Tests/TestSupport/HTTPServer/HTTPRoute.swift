/// How one path is answered: from the request, whose ``HTTPRequest/number`` tells how often the
/// path was asked for.
public struct HTTPRoute: Sendable {
  let answer: @Sendable (HTTPRequest) -> HTTPAnswer

  /// A route that makes its answers with a closure. It is called on the server's queue and must not
  /// block.
  public init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPAnswer) {
    self.answer = answer
  }

  /// The same answer every time.
  public static func always(_ answer: HTTPAnswer) -> HTTPRoute {
    HTTPRoute { _ in answer }
  }

  /// `failure` for the first `count` requests, `success` from then on.
  public static func failing(
    _ count: Int, with failure: HTTPAnswer = .status(503), then success: HTTPAnswer = .ok()
  ) -> HTTPRoute {
    HTTPRoute { $0.number <= count ? failure : success }
  }

  /// `HEAD` is refused with a status, every other method gets `answer`.
  public static func refusingHead(with status: Int = 405, then answer: HTTPAnswer = .ok()) -> HTTPRoute {
    HTTPRoute { $0.method == "HEAD" ? .status(status) : answer }
  }

  /// Redirects every request to the same path.
  public static func endlessRedirect(status: Int = 302) -> HTTPRoute {
    HTTPRoute { .redirect(to: $0.path, status: status) }
  }

  /// Answers with the method and the body of the request.
  public static let echo = HTTPRoute { .status(200, headers: [("X-Method", $0.method)], bytes: $0.body) }

  /// Requests with the valid token get `answer`, others 401.
  public static func protected(by tokens: HTTPTokens, then answer: HTTPAnswer = .ok()) -> HTTPRoute {
    HTTPRoute { request in
      tokens.accepts(request) ? answer : .status(401, headers: [("WWW-Authenticate", "Bearer")], body: "who are you?")
    }
  }

  /// Makes a new token, the only valid one from then on, and answers with it.
  public static func refreshing(_ tokens: HTTPTokens) -> HTTPRoute {
    HTTPRoute { _ in .status(200, body: tokens.refresh()) }
  }
}
