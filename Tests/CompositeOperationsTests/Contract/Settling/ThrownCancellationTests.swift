import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A `CancellationError` thrown by any closure that the package calls is `.cancelled`, for each
/// closure that the API takes.
@Suite("3.1.1 A thrown CancellationError is .cancelled", .hangLimit)
struct ThrownCancellationTests {
  @Test("3.1.1 Thrown by the work of an AsyncOperation")
  func throw_fromWork_isCancelled() async {
    let operation = AsyncOperation<Int> { throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the transform of map")
  func throw_fromMap_isCancelled() async {
    let operation = succeeding(1).map { _ -> Int in throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the transform of mapAsync")
  func throw_fromMapAsync_isCancelled() async {
    let operation = succeeding(1).mapAsync { _ async throws -> Int in throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the next of then")
  func throw_fromThen_isCancelled() async {
    let operation = succeeding(1).then { _ -> SimpleOperation<Int> in throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the handler of recover")
  func throw_fromRecover_isCancelled() async {
    let operation = failing(TestError.first).recover { _ -> SimpleOperation<Int> in throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the make closure of forEach")
  func throw_fromForEach_isCancelled() async {
    let operation = forEach([1, 2, 3], maxConcurrent: 1) { _ -> SimpleOperation<Int> in throw CancellationError() }
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by a sequence delegate")
  func throw_fromDelegate_isCancelled() async {
    let operation = CompositeOperation(sequence: ClosureSequence { _ in throw CancellationError() })
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by a sequence delegate after a step that failed")
  func throw_fromDelegateAfterFailure_isCancelled() async {
    let sequence = ClosureSequence { previous in
      guard previous == nil else { throw CancellationError() }
      return failing(TestError.first)
    }
    let operation = CompositeOperation(sequence: sequence)
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by a step of a LinearSequence")
  func throw_fromLinearStep_isCancelled() async {
    let operation = CompositeOperation(
      sequence: LinearSequence({ _ in succeeding(1) }, { _ in throw CancellationError() }))
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  @Test("3.1.1 Thrown by the closure of a RetrySequence")
  func throw_fromRetry_isCancelled() async {
    let operation = CompositeOperation(sequence: RetrySequence(maxAttempts: 3) { _ in throw CancellationError() })
    expectCancelled(operation, await outcomeOfStarting(operation))
  }

  private func expectCancelled<O: ComposableOperation>(_ operation: O, _ outcome: Outcome<O.Value>) {
    #expect(outcome.isCancelled)
    #expect(operation.isCancelled)
    #expect(operation.isFinished)
    #expect(operation.error == nil)
  }
}
