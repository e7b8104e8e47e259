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

  /// Every request is sent on to where it came from.
  public static func endlessRedirect(status: Int = 302) -> HTTPRoute {
    HTTPRoute { .redirect(to: $0.path, status: status) }
  }

  /// Sends back what came: method and body.
  public static let echo = HTTPRoute { .status(200, headers: [("X-Method", $0.method)], bytes: $0.body) }

  /// Who has the valid token gets `answer`, every other 401.
  public static func protected(by tokens: HTTPTokens, then answer: HTTPAnswer = .ok()) -> HTTPRoute {
    HTTPRoute { request in
      tokens.accepts(request) ? answer : .status(401, headers: [("WWW-Authenticate", "Bearer")], body: "who are you?")
    }
  }

  /// Makes a new token, which is the only one that is valid from then on, and answers with it.
  public static func refreshing(_ tokens: HTTPTokens) -> HTTPRoute {
    HTTPRoute { _ in .status(200, body: tokens.refresh()) }
  }
}
