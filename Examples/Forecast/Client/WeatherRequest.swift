import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations
import ManagedOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request as a task of a manager. Each attempt has the token of the moment: it may have been held for a while, and
/// these tokens do not last.
struct WeatherRequest: ManagedTask {
  typealias Value = HTTPResponse

  let request: URLRequest
  let session: URLSession
  let token: Shared<String>

  func makeOperation() -> SimpleOperation<HTTPResponse> {
    // Not set in the request: what the server gives as a token may be no value of a header field, which is an error here.
    HTTPOperation(request, session: session, headers: ["Authorization": "Bearer \(token.withLock { $0 })"])
  }
}
