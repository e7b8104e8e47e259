public import Foundation

/// What a server answered.
public struct HTTPResponse: Sendable {
  /// Where the answer came from: the request's address, or the last one that it was redirected to.
  public var url: URL?
  /// The status code, 200 for example.
  public var status: Int
  /// The header fields.
  public var headers: HTTPHeaders
  /// The body. Empty if it was written to a file.
  public var body: Data
  /// The file that the body was written to, if it was.
  public var file: URL?

  /// Makes a response from its parts.
  public init(url: URL? = nil, status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), file: URL? = nil) {
    self.url = url
    self.status = status
    self.headers = headers
    self.body = body
    self.file = file
  }
}
