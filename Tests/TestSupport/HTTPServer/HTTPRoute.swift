/// How one path is answered: from the request, whose ``HTTPRequest/number`` tells how often the path was asked for.
public struct HTTPRoute: Sendable {
  let answer: @Sendable (HTTPRequest) -> HTTPAnswer

  /// A route that makes its answers with a closure. It is called on the server's queue and must not block.
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
}
