import HTTPOperations
import Testing

/// A `switch` that names all values and has a `default` is one without a warning, so these would
/// not build if they were enumerations, where a new value breaks every client's `switch`.
@Suite("Codes that may grow", .timeLimit(.minutes(30))) struct GrowingValuesTests {
  @Test func httpErrorCodes_areSwitchedOverWithADefault() {
    let all: [HTTPError.Code] = [
      .invalidURL, .invalidRequest, .unreadableFile, .unwritableFile, .hostNotFound,
      .connectionRefused, .notConnected, .insecureConnection, .timedOut, .connectionLost, .malformedAnswer,
      .headerTooLarge, .bodyTooLarge, .truncatedBody, .tooManyRedirects, .invalidRedirect, .notHTTP, .other,
    ]
    func word(_ value: HTTPError.Code) -> String {
      switch value {
      case .invalidURL: "invalidURL"
      case .invalidRequest: "invalidRequest"
      case .unreadableFile: "unreadableFile"
      case .unwritableFile: "unwritableFile"
      case .hostNotFound: "hostNotFound"
      case .connectionRefused: "connectionRefused"
      case .notConnected: "notConnected"
      case .insecureConnection: "insecureConnection"
      case .timedOut: "timedOut"
      case .connectionLost: "connectionLost"
      case .malformedAnswer: "malformedAnswer"
      case .headerTooLarge: "headerTooLarge"
      case .bodyTooLarge: "bodyTooLarge"
      case .truncatedBody: "truncatedBody"
      case .tooManyRedirects: "tooManyRedirects"
      case .invalidRedirect: "invalidRedirect"
      case .notHTTP: "notHTTP"
      case .other: "other"
      default: "another"
      }
    }
    #expect(all.map(word) == all.map(\.description) && !all.map(word).contains("another"))
    #expect(Set(all).count == all.count)
    #expect(HTTPError.Code.allCases == all)
    #expect(all.map { HTTPError($0, url: nil).code } == all)
  }
}
