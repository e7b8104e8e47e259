import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Work that is done when it returns: a closure, or an overridden `perform()`.
@Suite("3 A body that returns or throws", .hangLimit)
struct ReturningBodyTests {
  @Test("3 The operation succeeds with the closure's value, when the closure returns")
  func body_returning_succeeds() {
    let operation = SimpleOperation<Int> { 42 }
    operation.start()
    #expect(operation.result == 42)
    #expect(operation.isFinished)
  }

  @Test("3 A Void closure that returns is a success")
  func body_returningVoid_succeeds() {
    let calls = Locked(0)
    let operation = SimpleOperation<Void> { _ = calls.increment() }
    operation.start()
    #expect(operation.result != nil)
    #expect(calls.current == 1)
  }

  @Test("3 The operation fails with the closure's error")
  func body_throwing_fails() {
    let operation = SimpleOperation<Int> { throw TestError.first }
    operation.start()
    #expect(operation.error as? TestError == .first)
  }

  @Test("3.1.1 A CancellationError that the closure throws is .cancelled")
  func body_throwingCancellationError_isCancelled() {
    let operation = SimpleOperation<Int> { throw CancellationError() }
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.isCancelled)
  }

  @Test("3.1.4 Cancelled before the start, the closure is not called")
  func body_cancelledBeforeStart_isSkipped() {
    let calls = Locked(0)
    let operation = SimpleOperation<Int> { calls.increment() }
    operation.cancel()
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(calls.current == 0)
  }

  @Test("3.1.4 Cancelled while the closure runs, its value or error is discarded for .cancelled")
  func body_cancelledMeanwhile_isDiscarded() async {
    for error in [nil, TestError.first] {
      let (started, gate) = (Gate(), Gate())
      let operation = SimpleOperation<Int> {
        started.open()
        gate.waitBlocking()
        if let error { throw error }
        return 1
      }
      async let outcome = outcomeOfStarting(operation)
      await started.wait()
      operation.cancel()
      #expect(operation.isExecuting)
      gate.open()
      #expect(await outcome.isCancelled)
    }
  }

  @Test("3.1.1 Settled by another caller while the closure runs, it keeps that outcome")
  func body_settledMeanwhile_keepsOutcome() async {
    let (started, gate) = (Gate(), Gate())
    let operation = SimpleOperation<Int> {
      started.open()
      gate.waitBlocking()
      return 1
    }
    async let ended: Void = onWorker { operation.start() }
    await started.wait()
    #expect(operation.finish(with: 2))
    gate.open()
    await ended
    #expect(operation.result == 2)
  }

  @Test("3 The closure is released when the operation has settled, whether it ran or not")
  func body_afterSettling_isReleased() async {
    for cancels in [false, true] {
      let released = Gate()
      let operation = makeOperation(capturing: ReleaseProbe(released))
      if cancels { operation.cancel() }
      operation.start()
      #expect(released.isOpen)
      #expect(operation.isFinished)
    }
  }

  @Test("3 A subclass that overrides perform() settles with what that returns or throws")
  func perform_overridden_settles() {
    let sum = Sum([1, 2, 3])
    sum.start()
    #expect(sum.result == 6)
    let empty = Sum([])
    empty.start()
    #expect(empty.error as? TestError == .first)
    let negative = Sum([-1])
    negative.start()
    #expect(negative.outcome?.isCancelled == true)
  }

  @Test("3.1.4 perform() is not called if the operation was cancelled before the start")
  func perform_cancelledBeforeStart_isSkipped() {
    let operation = CountingOperation()
    operation.cancel()
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.calls.current == 0)
  }

  @Test("3 perform() of a subclass for Void is called, and its error is the failure")
  func perform_ofVoid_isCalled() {
    let operation = CountingOperation()
    operation.start()
    #expect(operation.result != nil)
    #expect(operation.calls.current == 1)
  }

  @Test("3 In a queue, a composite and a chain such operations are like any other")
  func body_inOthers_isLikeAnyOther() async throws {
    #expect(try await OperationQueue().run(SimpleOperation { 1 }) == 1)
    let composite = CompositeOperation(operations: [SimpleOperation { 1 }, Sum([1, 1]), SimpleOperation { "three" }])
    let values = try #require(await outcomeOfStarting(composite).value)
    #expect(values[0] as? Int == 1 && values[1] as? Int == 2 && values[2] as? String == "three")
    #expect(try await Sum([1, 2]).then { sum in SimpleOperation { sum * 2 } }.map { $0 + 1 }.run() == 7)
  }

  private func makeOperation(capturing probe: ReleaseProbe) -> SimpleOperation<Int> {
    SimpleOperation {
      probe.touch()
      return 1
    }
  }
}

private final class Sum: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let numbers: [Int]

  init(_ numbers: [Int]) {
    self.numbers = numbers
    super.init()
  }

  override func perform() throws -> Int {
    guard let first = numbers.first else { throw TestError.first }
    if first < 0 { throw CancellationError() }
    return numbers.reduce(0, +)
  }
}

private final class CountingOperation: SimpleOperation<Void>, @unchecked Sendable {  // immutable
  let calls = Locked(0)

  override func perform() { calls.increment() }
}
