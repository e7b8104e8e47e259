public import Foundation

/// What an ``HTTPOperation`` fails with if the server answered with a status that is not accepted: the whole answer.
public struct HTTPStatusError: Error, Sendable {
  /// Where the answer came from: the request's address, or the last one that it was redirected to.
  public let url: URL?
  /// The status code, 404 for example.
  public let status: Int
  /// The header fields.
  public let headers: HTTPHeaders
  /// The body; of a download the first mebibyte of it.
  public let body: Data
  /// How long the server asks to be left alone, by its `Retry-After`: never negative, and nil if it does not say.
  ///
  /// A date counts from the `Date` of the answer, so that it does not matter if the clocks differ; without one from when
  /// this error was made.
  public let retryAfter: Duration?

  /// Makes an error from the parts of an answer.
  public init(url: URL? = nil, status: Int, headers: HTTPHeaders = [:], body: Data = Data()) {
    self.url = url
    self.status = status
    self.headers = headers
    self.body = body
    retryAfter = RetryAfter.duration(in: headers, now: Date())
  }
}

extension HTTPStatusError: LocalizedError, CustomStringConvertible {
  /// The sentence: which status, from where, and how the body begins if it is text.
  public var description: String {
    var text = "\(url?.textWithoutSecrets ?? "The server") answered with the status \(status)"
    if let retryAfter { text += ", to be asked again in \(retryAfter.components.seconds) s" }
    let start = String(decoding: body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
    return start.isEmpty ? text + "." : text + ": \(start)"
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
