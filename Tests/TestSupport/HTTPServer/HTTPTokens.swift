/// The tokens of a server: one is valid at a time, none before the first refresh.
///
/// ```swift
/// let tokens = HTTPTokens()
/// server.route("/token", .refreshing(tokens))
/// server.route("/secret", .protected(by: tokens))
/// ```
public final class HTTPTokens: Sendable {
  private let number = Locked(0)

  /// Makes them, none of them valid yet.
  public init() {}

  /// How often a token was made.
  public var refreshCount: Int { number.current }

  /// Makes a token, which ends the one before.
  @discardableResult
  public func refresh() -> String {
    "token-\(number.increment())"
  }

  /// Whether a request comes with `Authorization: Bearer` and the valid token.
  public func accepts(_ request: HTTPRequest) -> Bool {
    let number = number.current
    return number > 0 && request.headers["authorization"] == "Bearer token-\(number)"
  }
}
