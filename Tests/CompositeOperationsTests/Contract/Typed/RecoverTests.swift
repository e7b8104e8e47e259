import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: recover", .hangLimit)
struct RecoverTests {
  @Test("recover: a success passes through, the handler is not called")
  func recover_succeeding_passesThrough() async {
    let called = Gate()
    let recovered = succeeding(1).recover { _ in
      called.open()
      return succeeding(2)
    }
    #expect(await outcomeOfStarting(recovered).value == 1)
    #expect(!called.isOpen)
  }

  @Test("recover: a failure gives the error to the handler, whose operation decides")
  func recover_failing_runsTheHandlersOperation() async {
    let errors = EventRecorder<TestError>()
    let recovered = failing(TestError.first).recover { error in
      if let error = error as? TestError { errors.record(error) }
      return Doubling(2)
    }
    #expect(await outcomeOfStarting(recovered).value == 4)
    #expect(errors.events == [.first])
  }

  @Test("recover: a failure of the handler's operation is its own error")
  func recover_handlersOperationFailing_fails() async {
    let recovered = failing(TestError.first).recover { _ in failing(TestError.second) }
    #expect(await outcomeOfStarting(recovered).error as? TestError == .second)
  }

  @Test("recover: an error that the handler throws is the failure")
  func recover_handlerThrowing_fails() async {
    let recovered = failing(TestError.first).recover { error -> SimpleOperation<Int> in throw error }
    #expect(await outcomeOfStarting(recovered).error as? TestError == .first)
  }

  @Test("recover: a cancelled upstream is not recovered")
  func recover_upstreamCancelled_isCancelled() async {
    let called = Gate()
    let recovered = cancelling(as: Int.self).recover { _ in
      called.open()
      return succeeding(1)
    }
    #expect(await outcomeOfStarting(recovered).isCancelled)
    #expect(!called.isOpen)
  }

  @Test("recover: cancelling it cancels whichever runs", arguments: [true, false])
  func recover_cancelled_cancelsWhatRuns(isUpstream: Bool) async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let recovered: SimpleOperation<Int> =
      isUpstream
      ? held.recover { _ in succeeding(1) } : failing(TestError.first).recover { _ in held }
    await onWorker { recovered.start() }
    await held.started.wait()
    recovered.cancel()
    #expect(await settled(recovered).isCancelled)
    #expect(held.isCancelled)
  }

  @Test("recover: a composite is recovered with its CompositeError")
  func recover_ofComposite_isGivenCompositeError() async {
    let recovered = CompositeOperation(operations: [failing(TestError.first)]).recover { error in
      #expect((error as? CompositeError)?.failures.first?.error as? TestError == .first)
      return CompositeOperation(operations: [succeeding(1)])
    }
    #expect(await outcomeOfStarting(recovered).value as? [Int] == [1])
  }
}
