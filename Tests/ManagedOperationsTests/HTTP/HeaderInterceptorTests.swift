import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Header fields of interceptors", .timeLimit(.minutes(30))) struct HeaderInterceptorTests {
  /// HTTP-8: a token that was read from a file, with its last line break. Foundation would leave
  /// the field out without a word.
  @Test(arguments: [("Authorization", "Bearer abc\n"), ("X A", "v"), ("X-Color", "a\r\nX-Injected: b")])
  func field_thatNoRequestMayHave_isAnError_andNothingIsSent(_ name: String, _ value: String) async throws {
    try await withServer { server in
      let http = HTTPManager(interceptors: [.headers([name: value])], clock: ManualClock())
      do {
        _ = try await http.data(for: request(server.url()))
        Issue.record("The request was made.")
      } catch {
        #expect("\(error)".contains("header field"), "\(error)")
        #expect(!"\(error)".contains("abc"))
      }
      #expect(server.requests.count == 0)
    }
  }

  @Test func fields_doNotFollowToAnotherServer() async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/", .redirect(to: "/same"))
        first.route("/same", .redirect(to: second.url()))
        second.route("/", .ok())
        let http = HTTPManager(interceptors: [.headers(["X-Api-Key": "secret"])], clock: ManualClock())
        _ = try await http.data(for: request(first.url()))
        #expect(first.requests.events.map { $0.headers["x-api-key"] } == ["secret", "secret"])
        #expect(second.requests.events.map { $0.headers["x-api-key"] } == [nil])
      }
    }
  }

  @Test func interceptedAgain_fieldsOfTheTimeBefore_areTakenBack_exceptThoseThatOthersHaveSetInstead() async throws {
    try await withServer(keepsConnections: false) { server in
      let isFirst = Locked(true)
      server.route("/", .failing(1, with: .status(401), then: .ok()))
      let http = HTTPManager(
        interceptors: [
          .headers(["X-A": "always"]),
          .headers(where: { _ in isFirst.current }, { _ in ["X-A": "first", "X-B": "first", "X-C": "first"] }),
          .intercepting(HTTPTask.self) { task, _ in
            if isFirst.current { task.request.setValue("theirs", forHTTPHeaderField: "X-C") }
            return .execute
          },
        ],
        reactors: [.refreshingToken { _ in isFirst.withLock { $0 = false } }], clock: ManualClock())
      _ = try await http.data(for: request(server.url()))
      let sent = server.requests.events.map(\.headers)
      #expect(sent.map { $0["x-a"] } == ["first", "always"])
      #expect(sent.map { $0["x-b"] } == ["first", nil])
      #expect(sent.map { $0["x-c"] } == ["theirs", "theirs"])
    }
  }

  @Test func fieldThatWasTakenBack_isNoLongerSecret() async throws {
    try await withServer(keepsConnections: false) { first in
      try await withServer { second in
        let isFirst = Locked(true)
        first.route("/", .failing(1, with: .status(401), then: .redirect(to: second.url())))
        second.route("/", .ok())
        let http = HTTPManager(
          interceptors: [.headers(where: { _ in isFirst.current }, { _ in ["X-Color": "secret"] })],
          reactors: [.refreshingToken { _ in isFirst.withLock { $0 = false } }], clock: ManualClock())
        try await http.operations.run(HTTPTask(request(first.url()), headers: ["X-Color": "red"]))
        #expect(first.requests.events.map { $0.headers["x-color"] } == ["secret", "red"])
        #expect(second.requests.events.map { $0.headers["x-color"] } == ["red"])
      }
    }
  }
}
