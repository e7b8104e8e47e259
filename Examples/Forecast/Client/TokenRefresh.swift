import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Gets new tokens. Its request does not go through the manager, which starts nothing during a
/// refresh.
struct TokenRefresh: Sendable {
  let server: URL
  let session: URLSession
  let token: Shared<String>
  let log: RequestLog?
  private let count = Shared(0)

  init(server: URL, session: URLSession, token: Shared<String>, log: RequestLog?) {
    self.server = server
    self.session = session
    self.token = token
    self.log = log
  }

  func callAsFunction() async throws {
    var request = URLRequest(url: server.appendingPathComponent("token"))
    request.httpMethod = "POST"
    let answer = try await HTTPOperation(request, session: session).run()
    let new = try JSONDecoder().decode(TokenAnswer.self, from: answer.body).accessToken
    token.withLock { $0 = new }
    let number = count.withLock { count in
      count += 1
      return count
    }
    log?.tell("token", "refreshed (\(number))")
  }
}
