import CompositeOperations
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
    return HarmlessText.line(text + (excerpt.map { ": \($0)" } ?? "."))
  }

  /// The first line of the body, or how it begins, if the body is text.
  private var excerpt: String? {
    var start = body.prefix(200)
    var text = String(data: start, encoding: .utf8)
    // A character may have been cut through.
    while text == nil, start.count < body.count, start.count > 196 {
      start = start.dropLast()
      text = String(data: start, encoding: .utf8)
    }
    let isCut = start.count < body.count
    guard let lines = text?.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline), let line = lines.first,
      !line.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" })
    else { return nil }
    return isCut && lines.count == 1 ? line + "…" : String(line)
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
