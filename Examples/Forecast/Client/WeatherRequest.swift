import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations
import ManagedOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request as a task of a manager. Each attempt takes the current token: the task may have been
/// held for a while, and these tokens do not last.
struct WeatherRequest: ManagedTask {
  typealias Value = HTTPResponse

  let request: URLRequest
  let session: URLSession
  let token: Shared<String>

  func makeOperation() -> SimpleOperation<HTTPResponse> {
    // In `headers`, where a token that no header field may have is an error.
    HTTPOperation(request, session: session, headers: ["Authorization": "Bearer \(token.withLock { $0 })"])
  }
}
