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
    (.callIsActive, .notConnected), (.resourceUnavailable, .other), (.cannotLoadFromNetwork, .other),
    (.requestBodyStreamExhausted, .other), (.cannotDecodeContentData, .malformedAnswer),
    (.networkConnectionLost, .connectionLost),
  ]) func errorOfTheSession_hasItsCode(code: URLError.Code, right: HTTPError.Code) {
    let error = HTTPError(URLError(code), url: URL(string: "http://host/"), hasAnswer: false)
    #expect(error.code == right)
  }

  @Test(arguments: [
    (URLError.Code.callIsActive, HTTPError.Code.notConnected), (.resourceUnavailable, .other),
    (.cannotLoadFromNetwork, .other), (.requestBodyStreamExhausted, .other),
  ]) func errorOfTheRequest_afterAnAnswer_isNotOneOfTheBody(code: URLError.Code, right: HTTPError.Code) {
    let error = HTTPError(URLError(code), url: URL(string: "http://host/"), hasAnswer: true)
    #expect(error.code == right)
  }
}
