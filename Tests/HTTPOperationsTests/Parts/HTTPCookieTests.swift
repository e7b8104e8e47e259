#if os(Linux)
import Foundation
import FoundationNetworking
import Testing

@testable import HTTPOperations

/// What a session with TLS would need; the rest is tested with requests.
@Suite("HTTP: reading a cookie") struct HTTPCookieTests {
  /// In its file Foundation does not note that a cookie is a secure one.
  @Test func secureCookie_isNotKeptForTheNextProcess() throws {
    let url = try #require(URL(string: "https://host.example/"))
    for age in ["Max-Age=60", "Expires=Wed, 09 Jun 2100 10:18:14 GMT"] {
      let secure = try #require(HTTPCookie("a=1; \(age); secure", from: url))
      #expect(secure.isSecure && secure.isSessionOnly && secure.expiresDate != nil)
      let other = try #require(HTTPCookie("a=1; \(age); HttpOnly", from: url))
      #expect(!other.isSecure && !other.isSessionOnly && other.isHTTPOnly)
    }
  }
}
#endif
