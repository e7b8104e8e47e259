import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import LinkCheck

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct LinkSequenceTests {
  private func check(
    _ url: String, retries: Int = 2, onPause: @escaping @Sendable (Duration, String) -> Void = { _, _ in }
  ) throws -> CompositeOperation {
    let url = try #require(URL(string: url))
    let policy = LinkInquiry.Policy(retries: retries, firstPause: .zero)
    return CompositeOperation(
      sequence: LinkSequence(
        LinkInquiry(url, policy: policy), timeout: .seconds(3600), session: .forLinks(perHost: 2), onPause: onPause))
  }

  @Test func values_areTheRepliesThePausesAndTheVerdict() async throws {
    try await withServer { server in
      server.route("/flaky", .failing(1))
      let pauses = EventRecorder<String>()
      let values = try await check(server.url("/flaky")) { pauses.record("\($0.inSeconds): \($1)") }.run()
      #expect(values.count == 4)
      #expect((values[0] as? Reply)?.status == 503)
      #expect(values[1] is Void)
      #expect((values[2] as? Reply)?.status == 200)
      #expect(values[3] as? Verdict == .good())
      #expect(pauses.events == ["0 s: 503 service unavailable"])
    }
  }

  @Test func brokenLink_isNoFailureOfTheSequence() async throws {
    try await withServer { server in
      let values = try await check(server.url("/gone")).run()
      #expect(values.last as? Verdict == .broken(reason: "404 not found", status: 404))
    }
  }

  @Test func cancel_whileTheRequestRuns_cancelsTheDataTask() async throws {
    try await withServer { server in
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let operation = try check(server.url("/held"))
      operation.start()
      await server.requests.wait(forCount: 1)
      operation.cancel()
      #expect(await settled(operation).isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
      #expect(server.requests.count == 1)
    }
  }

  @Test func request_thatIsCancelledAtAnyMoment_settlesAsCancelledOrWithItsReply() async throws {
    try await withServer { server in
      server.route("/page", .ok())
      let session = URLSession.forLinks(perHost: 8)
      let url = try #require(URL(string: server.url("/page")))
      let all = (0..<200).map { _ in Request(.head, url, timeout: .seconds(3600), session: session) }
      let group = CompositeOperation(operations: all)
      group.failurePolicy = .waitForAll
      group.maxConcurrentOperationCount = 8
      for request in all {
        request.completion = { _ in all[Int.random(in: 0..<all.count)].cancel() }
      }
      group.start()
      _ = await settled(group)
      for request in all {
        let outcome = try #require(request.outcome)
        #expect(outcome.isCancelled || outcome.value?.status == 200)
        request.completion = nil
      }
    }
  }

  @Test func pause_whenCancelled_endsAtOnce() async throws {
    let operation = pause(.seconds(100_000))
    operation.start()
    operation.cancel()
    #expect(await settled(operation).isCancelled)
  }
}
