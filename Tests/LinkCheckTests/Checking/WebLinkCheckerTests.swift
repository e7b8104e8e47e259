import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import LinkCheck

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30))) struct WebLinkCheckerTests {
  private func check(
    _ url: String, retries: Int = 2, retryDelay: Duration = .seconds(4),
    clock: some Clock<Duration> = ContinuousClock(),
    onPause: @escaping @Sendable (Duration, String) -> Void = { _, _ in }
  ) throws -> SimpleOperation<Verdict> {
    var options = Options()
    options.retries = retries
    options.retryDelay = retryDelay
    options.timeout = .seconds(3600)
    return WebLinkChecker(options, clock: clock).check(try #require(URL(string: url)), onPause: onPause)
  }

  /// Waits until an operation has settled, and cancels it when the time of the test is up.
  private func outcome<O: ComposableOperation>(of operation: O) async -> Outcome<O.Value> {
    await withTaskCancellationHandler {
      await settled(operation)
    } onCancel: {
      operation.cancel()
    }
  }

  @Test func fault_isAskedForAgainAfterThePause() async throws {
    try await withServer { server in
      server.route("/flaky", .failing(1))
      let clock = ManualClock()
      let pauses = EventRecorder<String>()
      let check = try check(server.url("/flaky"), clock: clock) { pauses.record("\($0.inSeconds): \($1)") }
      check.start()
      await clock.waitForSleeper(dueIn: .seconds(4))
      #expect(server.requests.count == 1)
      clock.advance(by: .seconds(4))
      #expect(await outcome(of: check).value == .good())
      #expect(pauses.events == ["4 s: 503 service unavailable"])
      #expect(server.requests.events.map(\.method) == ["HEAD", "GET"])
    }
  }

  @Test func pauses_grow_upToAHalfMinute() async throws {
    try await withServer { server in
      server.route("/down", .status(503))
      let clock = ManualClock()
      let pauses = EventRecorder<Duration>()
      let check = try check(server.url("/down"), retries: 5, clock: clock) { pause, _ in pauses.record(pause) }
      check.start()
      for pause in [4, 8, 16, 30, 30] {
        await clock.waitForSleeper(dueIn: .seconds(pause))
        clock.advance(by: .seconds(pause))
      }
      #expect(await outcome(of: check).value == .broken(reason: "503 service unavailable", status: 503))
      #expect(pauses.events == [4, 8, 16, 30, 30].map { .seconds($0) })
    }
  }

  @Test func pauseOfMoreThanAHalfMinute_staysAsItWasAskedFor() async throws {
    try await withServer { server in
      server.route("/down", .status(503))
      let clock = ManualClock()
      let pauses = EventRecorder<Duration>()
      let check = try check(server.url("/down"), retryDelay: .seconds(45), clock: clock) { pause, _ in
        pauses.record(pause)
      }
      check.start()
      for _ in 1...2 {
        await clock.waitForSleeper(dueIn: .seconds(45))
        clock.advance(by: .seconds(45))
      }
      #expect(await outcome(of: check).value == .broken(reason: "503 service unavailable", status: 503))
      #expect(pauses.events == [.seconds(45), .seconds(45)])
    }
  }

  @Test func brokenLink_isNoFailure() async throws {
    try await withServer { server in
      let verdict = try await check(server.url("/gone")).run()
      #expect(verdict == .broken(reason: "404 not found", status: 404))
    }
  }

  @Test(arguments: [(200, Verdict.good()), (404, .broken(reason: "404 not found", status: 404))])
  func pageWithoutEnd_isJudgedByItsStatus(_ status: Int, _ verdict: Verdict) async throws {
    try await withServer { server in
      let page = String(repeating: "It goes on and on. ", count: 500_000)
      server.route("/page", .refusingHead(then: .status(status, body: page)))
      let found = try await check(server.url("/page")).run()
      #expect(found == verdict)
      #expect(server.requests.events.map(\.method) == ["HEAD", "GET"])
    }
  }

  @Test func requests_toOneServer_areLimited_whileItsPausesAreNot() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/busy", .retryLater(after: "50"))
      for number in 1...4 { server.route("/\(number)", HTTPAnswer.ok().held(by: gate)) }
      var options = Options()
      options.perHost = 2
      options.timeout = .seconds(3600)
      let checker = WebLinkChecker(options, clock: ManualClock())
      let pauses = EventRecorder<String>()
      func checks(_ paths: [String]) throws -> CompositeOperation {
        let urls = try paths.map { try #require(URL(string: server.url($0))) }
        return CompositeOperation(operations: urls.map { checker.check($0) { _, reason in pauses.record(reason) } })
      }
      let busy = try checks(["/busy", "/busy"])
      busy.start()
      await pauses.wait(forCount: 2)
      // They pause, and so there is room for two others.
      let others = try checks(["/1", "/2", "/3", "/4"])
      others.start()
      await server.requests.wait(forCount: 4)
      #expect(server.maxConcurrent <= 2)
      for all in [busy, others] { all.cancel() }
      gate.open()
      for all in [busy, others] { #expect(await outcome(of: all).isCancelled) }
    }
  }

  @Test func cancel_whileTheRequestRuns_endsTheRequest() async throws {
    try await withServer { server in
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let operation = try check(server.url("/held"))
      operation.start()
      await server.requests.wait(forCount: 1)
      operation.cancel()
      #expect(await outcome(of: operation).isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
      #expect(server.requests.count == 1)
    }
  }

  @Test func request_thatIsCancelledAtAnyMoment_settlesAsCancelledOrWithItsReply() async throws {
    try await withServer { server in
      server.route("/page", .ok())
      let session = URLSession.forLinks(perHost: 8)
      let url = try #require(URL(string: server.url("/page")))
      let all = (0..<200).map { _ in Request.operation(.head, url, timeout: .seconds(3600), session: session) }
      let group = CompositeOperation(operations: all)
      group.failurePolicy = .waitForAll
      group.maxConcurrentOperationCount = 8
      for request in all {
        request.completion = { _ in all[Int.random(in: 0..<all.count)].cancel() }
      }
      group.start()
      _ = await outcome(of: group)
      for request in all {
        let outcome = try #require(request.outcome)
        #expect(outcome.isCancelled || outcome.value?.status == 200)
        request.completion = nil
      }
    }
  }
}
