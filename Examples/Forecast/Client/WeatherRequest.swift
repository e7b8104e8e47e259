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
    var request = request
    request.setValue("Bearer \(token.withLock { $0 })", forHTTPHeaderField: "Authorization")
    return HTTPOperation(request, session: session)
  }
}
