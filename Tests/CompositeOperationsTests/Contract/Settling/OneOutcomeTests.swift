import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.1 Exactly one outcome, set once", .hangLimit)
struct OneOutcomeTests {
  @Test("3.1.1 No outcome until settled")
  func outcome_beforeSettling_isNil() {
    let operation = HeldOperation<Int>()
    #expect(operation.outcome == nil)
    operation.start()
    #expect(operation.outcome == nil)
    #expect(operation.result == nil)
    #expect(operation.error == nil)
    operation.finish(with: 1)
  }

  @Test("3.1.1 The first settling call wins, whichever it is, and only it returns true", arguments: Settling.allCases)
  func settle_first_wins(first: Settling) {
    for second in Settling.allCases {
      let operation = HeldOperation<String>()
      operation.start()
      #expect(first.apply(to: operation, value: "first", error: .first))
      #expect(!second.apply(to: operation, value: "second", error: .second), "\(second) after \(first)")
      first.expectOutcome(of: operation, value: "first", error: .first)
    }
  }

  @Test("3.1.1 Of two calls that race, exactly one returns true and its argument is the outcome")
  func finishAndReject_racing_oneWins() async {
    for _ in 0..<500 {
      let operation = HeldOperation<Int>()
      operation.start()
      async let finished = onWorker { operation.finish(with: 1) }
      async let rejected = onWorker { operation.reject(with: TestError.first) }
      let (didFinish, didReject) = await (finished, rejected)
      #expect(didFinish != didReject)
      #expect((operation.result != nil) == didFinish)
      #expect((operation.error != nil) == didReject)
    }
  }

  @Test("3.1.1 A losing call leaves no trace: its value is not kept")
  func finish_afterReject_releasesItsValue() {
    let operation = HeldOperation<ReleaseProbe>()
    operation.start()
    operation.reject(with: TestError.first)
    let released = Gate()
    #expect(!operation.finish(with: ReleaseProbe(released)))
    #expect(released.isOpen)
  }

  @Test("3.1.1 Never both a result and an error")
  func resultAndError_afterBoth_areExclusive() {
    let failed = HeldOperation<Int>()
    failed.start()
    failed.reject(with: TestError.first)
    failed.finish(with: 1)
    #expect(failed.result == nil)
    #expect(failed.error as? TestError == .first)

    let succeeded = HeldOperation<Int>()
    succeeded.start()
    succeeded.finish(with: 1)
    succeeded.reject(with: TestError.first)
    #expect(succeeded.result == 1)
    #expect(succeeded.error == nil)
  }

  @Test("3.1.1 Value and state are set in one step: a finished operation has its outcome")
  func isFinished_seenTrue_impliesOutcome() async {
    for _ in 0..<200 {
      let operation = HeldOperation<Int>()
      operation.start()
      async let seen = onThread {
        while !operation.isFinished {}
        return operation.outcome?.value
      }
      DispatchQueue.global().async { operation.finish(with: 7) }
      #expect(await seen == 7)
    }
  }

  @Test("3.1.1 A CancellationError given to reject is .cancelled")
  func reject_withCancellationError_isCancelled() {
    let operation = HeldOperation<Int>()
    operation.start()
    #expect(operation.reject(with: CancellationError()))
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.error == nil)
    #expect(operation.isCancelled)
  }

  @Test("3.1.1 settle(with: .cancelled) sets isCancelled and calls no cancel hook")
  func settle_withCancelled_callsNoHook() {
    let operation = HeldOperation<Int>()
    let hook = Gate()
    operation.onCancel = { hook.open() }
    operation.start()
    #expect(operation.settle(with: .cancelled))
    #expect(operation.isCancelled)
    #expect(operation.outcome?.isCancelled == true)
    #expect(!hook.isOpen)
    #expect(!operation.cancelRequested.isOpen)
  }

  @Test("3.1.1 settle(with: .cancelled) of an operation that was cancelled while it runs returns true")
  func settle_withCancelledAfterCancel_returnsTrue() {
    let operation = HeldOperation<Int>()
    operation.start()
    operation.cancel()
    #expect(operation.settle(with: .cancelled))
    #expect(!operation.settle(with: .cancelled))
  }
}

/// The three calls that settle.
enum Settling: CaseIterable, Sendable {
  case finish, reject, settleWithSuccess, settleWithFailure, settleWithCancelled

  func apply(to operation: SimpleOperation<String>, value: String, error: TestError) -> Bool {
    switch self {
    case .finish: operation.finish(with: value)
    case .reject: operation.reject(with: error)
    case .settleWithSuccess: operation.settle(with: .success(value))
    case .settleWithFailure: operation.settle(with: .failure(error))
    case .settleWithCancelled: operation.settle(with: .cancelled)
    }
  }

  func expectOutcome(of operation: SimpleOperation<String>, value: String, error: TestError) {
    switch self {
    case .finish, .settleWithSuccess:
      #expect(operation.result == value)
      #expect(operation.error == nil)
    case .reject, .settleWithFailure:
      #expect(operation.result == nil)
      #expect(operation.error as? TestError == error)
    case .settleWithCancelled:
      #expect(operation.outcome?.isCancelled == true)
    }
  }
}
