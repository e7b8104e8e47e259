import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

/// Programming errors trap with a sentence that names the thing, the cause and the remedy; what
/// correct programs can meet is an error with such a sentence.
@Suite("6 Bad input", .timeLimit(.minutes(30)))
struct MisuseTests {
  #if os(macOS) || os(Linux)
  private func expect(_ result: ExitTest.Result?, says parts: String...) throws {
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    for part in parts { #expect(text.contains(part), "\(text)") }
  }

  @Test func limit_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      OperationManager(name: "uploads", clock: ManualClock()).maxConcurrentOperationCount = 0
    }
    try expect(result, says: "“uploads”", "0", "isSuspended")
  }

  @Test func batch_ofNone_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = BatchInterceptor.batch(maxCount: 0)
    }
    try expect(result, says: ".batch", "maxCount of 0", "Use 1")
  }

  @Test func batchAge_inThePast_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = BatchInterceptor.batch(maxAge: .seconds(-1))
    }
    try expect(result, says: ".batch", "in the past", "Use zero or more")
  }

  @Test func rate_withoutTokens_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = AnyInterceptor.rateLimit(tokens: 0, per: .seconds(1))
    }
    try expect(result, says: ".rateLimit", "0 tokens", "at least 1")
  }

  @Test func rate_withoutTime_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = AnyInterceptor.rateLimit(tokens: 1, per: .zero)
    }
    try expect(result, says: ".rateLimit", "positive duration")
  }

  @Test func anyTask_whoseValueIsAnOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = AnyManagedTask { await Task { SimpleOperation<Int> { $0.finish(with: 1) } }.value }
    }
    try expect(result, says: "AnyManagedTask", "would never run")
  }
  #endif

  @Test func operation_thatHasFinished_isAnError() async {
    let used = succeeding(1)
    used.start()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay))], clock: ManualClock())
    let error = managedError(await settled(manager.add(AnyManagedTask(makeOperation: { used }))))
    #expect(error?.code == .operationAlreadyFinished)
    #expect(error?.errorDescription?.contains("make a new one in makeOperation()") == true)
  }

  @Test func makeOperation_throws_failsAndIsReactedTo() async throws {
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay))], clock: ManualClock())
    let value = try await manager.run(
      Scripted { attempt in
        if attempt == 1 { throw TestError.first }
        return succeeding(attempt)
      })
    #expect(value == 2)
    #expect(await settled(manager.add(Scripted<Int> { _ in throw CancellationError() })).isCancelled)
    let failed = manager.add(Scripted<Int> { _ in throw TestError.second })
    #expect(await settled(failed).error as? TestError == .second)
  }

  @Test func interceptor_throws_isAnErrorThatNamesIt() async throws {
    let manager = OperationManager(
      interceptors: [
        .intercepting(Number.self) { task, _ in
          if task.number == 1 { throw TestError.first }
          if task.number == 2 { throw CancellationError() }
          return .execute
        }
      ], clock: ManualClock())
    let error = managedError(await settled(manager.add(Number(1))))
    #expect(error?.code == .interceptionFailed && error?.cause as? TestError == .first)
    #expect(error?.participant == ".intercepting(Number.self)")
    #expect(await settled(manager.add(Number(2))).isCancelled)
    #expect(try await manager.run(Number(3)) == 3)
    await manager.waitUntilIdle()
  }
}
