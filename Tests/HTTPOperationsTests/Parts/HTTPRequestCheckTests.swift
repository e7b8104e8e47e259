import Foundation
import Testing

@testable import HTTPOperations

@Suite("HTTP: the check of a request") struct HTTPRequestCheckTests {
  private func mistake(in url: String, sessionIdentifier: String?) -> HTTPError? {
    let state = HTTPExchangeState(
      request: request(url), transfer: .data, options: HTTPOptions(), acceptedStatuses: nil, maxRedirects: 0)
    return HTTPRequestCheck.mistake(in: state, sessionIdentifier: sessionIdentifier) as? HTTPError
  }

  /// APL-8: its tasks have no delegate, and cannot upload what is in memory. There is none on
  /// Linux.
  @Test func backgroundSession_isRefused() throws {
    let error = try #require(mistake(in: "http://host/path", sessionIdentifier: "org.example.downloads"))
    #expect(error.code == .invalidRequest && error.url?.absoluteString == "http://host/path")
    #expect("\(error)".contains("a background session cannot make it"))
  }

  @Test func otherSession_isAccepted() {
    #expect(mistake(in: "http://host/path", sessionIdentifier: nil) == nil)
  }
}
