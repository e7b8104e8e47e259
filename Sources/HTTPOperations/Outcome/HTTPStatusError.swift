import CompositeOperations
public import Foundation

/// The error of an ``HTTPOperation`` whose answer has a status that is not accepted, with the whole
/// answer.
public struct HTTPStatusError: Error, Sendable {
  /// Where the answer came from: the request's address, or the last one that it was redirected to.
  public let url: URL?
  /// The status code, 404 for example.
  public let status: Int
  /// The header fields.
  public let headers: HTTPHeaders
  /// The body; for a download its first mebibyte.
  public let body: Data
  /// How long the server asks clients to wait, by its `Retry-After`: never negative; nil if it does
  /// not say, or names neither seconds nor a date of HTTP, which is in GMT.
  ///
  /// A date counts from the `Date` of the answer, so that differing clocks do not matter; without
  /// one it counts from when this error was made.
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
  /// The sentence: which status, from where, and the beginning of the body if it is text.
  public var description: String {
    var text = "\(url?.textWithoutSecrets ?? "The server") answered with the status \(status)"
    if let retryAfter { text += ", to be asked again in \(retryAfter.components.seconds) s" }
    return HarmlessText.line(text + (excerpt.map { ": \($0)" } ?? "."))
  }

  /// The first line of the body, or its beginning, if the body is text.
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

/// Reads `Retry-After`: a number of seconds, or a date in one of the three forms that HTTP knows.
enum RetryAfter {
  /// A longer time is not meant, and dates far away do not fit into whole nanoseconds.
  private static let longest = 366 * 86_400

  static func duration(in headers: HTTPHeaders, now: Date) -> Duration? {
    guard let text = headers["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if !text.isEmpty, text.allSatisfy(\.isASCIIDigit) { return .seconds(min(Int(text) ?? longest, longest)) }
    guard let date = secondsSince1970(text) else { return nil }
    let start = headers["Date"].flatMap(secondsSince1970) ?? Int(now.timeIntervalSince1970)
    return .seconds(min(max(0, date - start), longest))
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37
  /// 1994`.
  static func secondsSince1970(_ text: String) -> Int? {
    let words = text.split { $0 == " " || $0 == "," || $0 == "-" }
    guard let time = words.first(where: { $0.contains(":") }).map({ $0.split(separator: ":").map { Int($0) } }),
      time.count == 3, let hour = time[0], let minute = time[1], let second = time[2],
      (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second),
      // Two forms end with the zone, the other one with the year.
      let last = words.last, last.allSatisfy(\.isASCIIDigit) ? words.count == 5 : isGMT(last) && words.count == 6,
      let month = words.lazy.compactMap({ months.firstIndex(of: $0.prefix(3).lowercased()) }).first
    else { return nil }
    let numbers = words.compactMap { $0.allSatisfy(\.isASCIIDigit) ? Int($0) : nil }
    guard numbers.count == 2, (1...31).contains(numbers[0]), (0...9999).contains(numbers[1]) else { return nil }
    // A year of two digits is in the nearest century.
    let year = numbers[1] < 70 ? numbers[1] + 2000 : numbers[1] < 100 ? numbers[1] + 1900 : numbers[1]
    return ((days(year, month, numbers[0]) * 24 + hour) * 60 + minute) * 60 + second
  }

  private static func isGMT(_ zone: Substring) -> Bool { ["GMT", "UTC"].contains(zone.uppercased()) }

  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
  private static let daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

  /// The days from 1 January 1970 to a day of the Gregorian calendar; January is month 0.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let passed = year - 1
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let ofYears = passed * 365 + passed / 4 - passed / 100 + passed / 400 - 719_162
    return ofYears + daysBeforeMonth[month] + (isLeap && month > 1 ? 1 : 0) + day - 1
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
