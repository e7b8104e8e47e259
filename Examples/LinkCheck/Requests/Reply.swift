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

  init(_ answer: HTTPStatusError) {
    status = answer.status
    location = answer.headers["Location"]
    retryAfter = answer.retryAfter
  }

  /// The status with its name, such as `404 not found`. Platforms differ in the case of its
  /// letters.
  static func description(of status: Int) -> String {
    "\(status) \(HTTPURLResponse.localizedString(forStatusCode: status).lowercased())"
  }
}
