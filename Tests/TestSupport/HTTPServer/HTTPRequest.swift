/// One request as the server read it.
public struct HTTPRequest: Sendable, Equatable {
  /// The method: `GET`, `HEAD` and so on.
  public let method: String

  /// The target as it stood in the request line: path and query, still percent-encoded.
  public let path: String

  /// The header fields by lower-cased name. A field given several times has its values joined with
  /// a comma.
  public let headers: [String: String]

  /// The body, empty if there was none.
  public let body: [UInt8]

  /// How many requests for this path the server had seen when this one came, itself included.
  public internal(set) var number = 1

  /// Makes a request from its parts.
  public init(method: String, path: String, headers: [String: String] = [:], body: [UInt8] = []) {
    self.method = method
    self.path = path
    self.headers = headers
    self.body = body
  }

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }
}
