import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTPManager: options", .timeLimit(.minutes(30))) struct HTTPManagerOptionsTests {
  @Test(arguments: [false, true])
  func options_ofTheManager_holdForItsRequests(_ hasOwnSession: Bool) async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let options = HTTPOptions(maxBodySize: 4)
      let http =
        hasOwnSession
        ? HTTPManager(configuration: .ephemeral, options: options, clock: ManualClock())
        : HTTPManager(options: options, clock: ManualClock())
      let asked = request(server.url())
      let error = await #expect(throws: HTTPError.self) { try await http.data(for: asked) }
      #expect(error?.code == .bodyTooLarge)
      let group = http.operations.add(contentsOf: [HTTPTask(asked)])
      #expect((await settled(group.handles[0]).error as? HTTPError)?.code == .bodyTooLarge)
    }
  }

  @Test func options_ofATask_holdInstead_alsoThoseOfAnInterceptor() async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let asked = request(server.url())
      let small = HTTPOptions(maxBodySize: 4)
      let http = HTTPManager(
        options: small,
        interceptors: [
          .intercepting(HTTPTask.self) { task, _ in
            if task.request.httpMethod == "PUT" { task.options?.maxBodySize = 5 }
            return .execute
          }
        ], clock: ManualClock())
      let own = try await http.operations.run(HTTPTask(asked, options: HTTPOptions(maxBodySize: 5)))
      #expect(own.body.count == 5)
      let changed = try await http.data(for: request(server.url(), "PUT"))
      #expect(changed.body.count == 5)
      await #expect(throws: HTTPError.self) { try await http.data(for: asked) }
    }
  }

  // MARK: - Header fields

  @Test func headers_ofATask_arrive_insteadOfThoseOfTheRequest() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let http = HTTPManager(
        interceptors: [
          .intercepting(HTTPTask.self) { task, _ in
            task.headers["Authorization"] = "Bearer new"
            return .execute
          }
        ], clock: ManualClock())
      let task = HTTPTask(request(server.url(), token: "old"), headers: ["X-Color": "red"])
      try await http.operations.run(task)
      let sent = server.requests.events.first?.headers
      #expect(sent?["authorization"] == "Bearer new" && sent?["x-color"] == "red")
    }
  }

  /// A token that was read from a file, with its last line break.
  @Test(arguments: [("Authorization", "Bearer abc\n"), ("X A", "v"), ("X-Color", "a\r\nX-Injected: b")])
  func headers_ofATask_thatNoRequestMayHave_areTheErrorOfARequest(_ name: String, _ value: String) async throws {
    try await withServer { server in
      server.route("/", .ok())
      let http = HTTPManager(clock: ManualClock())
      let asked = request(server.url())
      let error = await settled(http.operations.add(HTTPTask(asked, headers: [name: value]))).error as? HTTPError
      let other = await outcomeOfStarting(HTTPOperation(asked, headers: [name: value])).error as? HTTPError
      #expect(error?.code == .invalidRequest)
      #expect(error.map { "\($0)" } == other.map { "\($0)" })
      #expect(server.requests.count == 0)
    }
  }

  @Test func headers_ofATask_followToAnotherServer_exceptTheSecretOnes() async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/", .redirect(to: second.url()))
        second.route("/", .ok())
        let fields: HTTPHeaders = ["Authorization": "Bearer a", "X-Api-Key": "s", "X-Color": "red"]
        let task = HTTPTask(
          request(first.url()), headers: fields, options: HTTPOptions(secretFields: ["x-api-key"]))
        try await HTTPManager(clock: ManualClock()).operations.run(task)
        let (here, there) = (first.requests.events.first?.headers, second.requests.events.first?.headers)
        #expect(here?["authorization"] == "Bearer a" && here?["x-api-key"] == "s" && here?["x-color"] == "red")
        #expect(there?["authorization"] == nil && there?["x-api-key"] == nil && there?["x-color"] == "red")
      }
    }
  }

  @Test func headers_ofATask_areReplacedByAnInterceptors() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let http = HTTPManager(interceptors: [.headers(["X-Color": "blue"])], clock: ManualClock())
      try await http.operations.run(HTTPTask(request(server.url()), headers: ["x-color": "red", "X-Size": "1"]))
      let sent = server.requests.events.first?.headers
      #expect(sent?["x-color"] == "blue" && sent?["x-size"] == "1")
    }
  }

  // MARK: - Without a manager

  @Test func task_withoutAManager_hasThoseOfARequest() async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      let answer = try await HTTPTask(request(server.url())).makeOperation().run()
      #expect(answer.body.count == 5)
    }
  }
}
