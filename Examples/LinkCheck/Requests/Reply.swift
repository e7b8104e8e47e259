import Foundation
import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a server answered, as far as it matters here.
struct Reply: Equatable, Sendable {
  let status: Int
  /// Where a redirect leads, as it was written.
  var location: String?
  /// How long the server asks to be left alone.
  var retryAfter: Duration?

  init(status: Int, location: String? = nil, retryAfter: Duration? = nil) {
    self.status = status
    self.location = location
    self.retryAfter = retryAfter
  }

  init(_ response: HTTPResponse) {
    status = response.status
    location = response.headers["Location"]
    retryAfter = response.headers["Retry-After"].flatMap { Self.pause($0, from: Date()) }
  }

  /// The pause that a `Retry-After` asks for: a number of seconds, or a date.
  static func pause(_ text: String, from now: Date) -> Duration? {
    let text = text.trimmingASCIIWhitespace
    if let seconds = Int(text) { return seconds >= 0 ? .seconds(min(seconds, 1_000_000)) : nil }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let date = format.date(from: text) else { return nil }
    return .seconds(min(max(0, date.timeIntervalSince(now).rounded(.up)), 1_000_000))
  }

  /// The status with its name, such as `404 not found`. Platforms differ in the case of its letters.
  static func description(of status: Int) -> String {
    "\(status) \(HTTPURLResponse.localizedString(forStatusCode: status).lowercased())"
  }
}
