import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

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
}
