import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTPManager: options", .timeLimit(.minutes(10))) struct HTTPManagerOptionsTests {
  @Test(arguments: [false, true])
  func options_ofTheManager_holdForItsRequests(_ hasOwnSession: Bool) async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let options = HTTPOptions(bodyInMemory: 4)
      let http =
        hasOwnSession
        ? HTTPManager(configuration: .ephemeral, options: options, clock: ManualClock())
        : HTTPManager(options: options, clock: ManualClock())
      #expect(http.options == options)
      let asked = request(server.url())
      let error = await #expect(throws: HTTPError.self) { try await http.data(for: asked) }
      #expect(error?.code == .bodyTooLarge)
      let group = http.add(contentsOf: [HTTPTask(asked)])
      #expect((await settled(group.handles[0]).error as? HTTPError)?.code == .bodyTooLarge)
    }
  }

  @Test func options_ofATask_holdInstead_alsoThoseOfAnInterceptor() async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let asked = request(server.url())
      let small = HTTPOptions(bodyInMemory: 4)
      let http = HTTPManager(
        options: small,
        interceptors: [
          TypedInterceptor(HTTPTask.self) { task, _ in
            if task.request.httpMethod == "PUT" { task.options?.bodyInMemory = 5 }
            return .execute
          }
        ], clock: ManualClock())
      let own = try await http.run(HTTPTask(asked, options: HTTPOptions(bodyInMemory: 5)))
      #expect(own.body.count == 5)
      let changed = try await http.data(for: request(server.url(), "PUT"))
      #expect(changed.body.count == 5)
      await #expect(throws: HTTPError.self) { try await http.data(for: asked) }
    }
  }

  @Test func task_withoutAManager_hasThoseOfARequest() async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let answer = try await HTTPTask(request(server.url())).makeOperation().run()
      #expect(answer.body.count == 5)
    }
  }
}
