import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Programming errors trap at once, with a message that names the thing, the cause and the remedy.
@Suite("10 Preconditions", .hangLimit)
struct PreconditionTests {
  #if os(macOS) || os(Linux)
  @Test("10 maxConcurrentOperationCount of 0 traps")
  func limit_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CompositeOperation(operations: []).maxConcurrentOperationCount = 0
    }
    try expect(result, says: "maxConcurrentOperationCount of CompositeOperation was set to 0", "default", "isSuspended")
  }

  @Test("10 An operation that depends on itself traps, instead of waiting inside Foundation forever")
  func addDependency_onItself_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let operation = SimpleOperation<Int> { 1 }
      operation.name = "ouroboros"
      operation.addDependency(operation)
    }
    try expect(result, says: "“ouroboros” (SimpleOperation<Int>) was made to depend on itself", "Remove")
  }

  /// A composite that calls `super.main()` twice.
  private final class Hasty: CompositeOperation, @unchecked Sendable {
    override func main() {
      super.main()
      super.main()
    }
  }

  @Test("10 super.main() called twice traps", arguments: [false, true])
  func main_calledTwice_traps(isSequence: Bool) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isSequence] in
      let child = SimpleOperation<Int> { _ in }
      let hasty = isSequence ? Hasty(sequence: LinearSequence({ _ in child })) : Hasty(operations: [child])
      hasty.name = "sync"
      hasty.start()
    }
    try expect(result, says: "super.main() of “sync” (Hasty) was called twice", "begins once", "last statement")
  }

  @Test("10 A negative maxConcurrentOperationCount other than the default constant traps")
  func limit_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let composite = CompositeOperation(sequence: LinearSequence())
      composite.name = "sync"
      composite.maxConcurrentOperationCount = -2
    }
    try expect(result, says: "maxConcurrentOperationCount of “sync” (CompositeOperation) was set to -2", "default")
  }
  #endif

  @Test("10 The default constant and positive limits do not trap")
  func limit_ofDefaultConstant_isAccepted() {
    let composite = CompositeOperation(operations: [])
    composite.maxConcurrentOperationCount = 1
    #expect(composite.maxConcurrentOperationCount == 1)
    composite.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    #expect(composite.maxConcurrentOperationCount == OperationQueue.defaultMaxConcurrentOperationCount)
    composite.maxConcurrentOperationCount = 1_000_000
    #expect(composite.maxConcurrentOperationCount == 1_000_000)
  }

  #if os(macOS) || os(Linux)
  @Test("10 all with maxConcurrent 0 traps")
  func all_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = all([succeeding(1)], maxConcurrent: 0)
    }
    try expect(result, says: "maxConcurrent of all was set to 0", "positive number", "default")
  }

  @Test("10 forEach with maxConcurrent 0 traps")
  func forEach_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = forEach([1], maxConcurrent: 0) { succeeding($0) }
    }
    try expect(result, says: "maxConcurrent of forEach was set to 0", "positive number", "default")
  }

  @Test("3.3 maxAttempts below 1 is a precondition failure")
  func maxAttempts_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RetrySequence(maxAttempts: 0) { _ in succeeding(1) }
    }
    try expect(result, says: "RetrySequence", "0 attempts", "at least 1")
  }

  @Test("3.3 A negative maxAttempts is a precondition failure")
  func maxAttempts_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RetrySequence(maxAttempts: -3) { _ in succeeding(1) }
    }
    try expect(result, says: "RetrySequence", "-3 attempts")
  }

  @Test("10 start() before a dependency has finished traps and names both")
  func start_beforeDependency_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let login = succeeding(1, named: "login")
      let fetch = succeeding(1, named: "fetch")
      fetch.addDependency(login)
      fetch.start()
    }
    try expect(
      result, says: "“fetch” (SimpleOperation<Int>) was started before its dependency “login”", "OperationQueue",
      "composite", "run()")
  }

  @Test("3 failurePolicy is fixed once started: a change traps")
  func failurePolicy_changedAfterStart_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let held = HeldOperation<Int>()
      let composite = CompositeOperation(operations: [held])
      composite.name = "sync of all accounts"
      await onWorker { composite.start() }
      await held.started.wait()
      composite.failurePolicy = .waitForAll
    }
    try expect(result, says: "failurePolicy", "sync of all accounts", "start")
  }
  #endif

  @Test("3 failurePolicy may be changed until the start")
  func failurePolicy_changedBeforeStart_isUsed() async {
    let recorder = EventRecorder<String>()
    let composite = CompositeOperation(operations: [
      failing(TestError.first), succeeding(1, named: "rest", recorder: recorder),
    ])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    #expect(composite.failurePolicy == .waitForAll)
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == ["rest"])
  }

  #if os(macOS) || os(Linux)
  private func expect(_ result: ExitTest.Result?, says words: String...) throws {
    let message = try #require(result?.standardErrorText)
    for word in words {
      #expect(message.lowercased().contains(word.lowercased()), "“\(word)” is missing in: \(message)")
    }
  }
  #endif
}
