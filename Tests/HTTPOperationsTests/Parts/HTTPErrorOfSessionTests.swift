import Foundation
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct HTTPErrorOfSessionTests {
  /// APL-17
  @Test(arguments: [
    (URLError.Code.appTransportSecurityRequiresSecureConnection, HTTPError.Code.insecureConnection),
    (.userCancelledAuthentication, .other), (.userAuthenticationRequired, .other),
    (.cannotDecodeContentData, .malformedAnswer), (.networkConnectionLost, .connectionLost),
  ]) func errorOfTheSession_hasItsCode(code: URLError.Code, right: HTTPError.Code) {
    let error = HTTPError(URLError(code), url: URL(string: "http://host/"), hasAnswer: false)
    #expect(error.code == right)
  }
}
