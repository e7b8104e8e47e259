import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.2 Where completion runs", .hangLimit)
struct CompletionContextTests {
  @Test("3.1.2 completion runs on the thread that settled the operation")
  func completion_runsOn_settlingThread() async {
    let operation = HeldOperation<Int>()
    let completionThread = Locked<ObjectIdentifier?>(nil)
    operation.completion = { _ in completionThread.withLock { $0 = ObjectIdentifier(Thread.current) } }
    operation.start()
    let settlingThread = await onThread {
      operation.finish(with: 1)
      return ObjectIdentifier(Thread.current)
    }
    #expect(completionThread.current == settlingThread)
  }

  @Test("3.1.2 completion has run when the call that settled returns")
  func finish_returns_afterCompletion() {
    let operation = HeldOperation<Int>()
    let spy = CompletionSpy<Int>()
    operation.completion = spy.completion
    operation.start()
    operation.finish(with: 1)
    #expect(spy.count == 1)
  }

  @Test("3.1.2 completion runs on the thread that started an operation cancelled before")
  func completion_cancelledBeforeStart_runsOnStartingThread() async {
    let operation = HeldOperation<Int>()
    let completionThread = Locked<ObjectIdentifier?>(nil)
    operation.completion = { _ in completionThread.withLock { $0 = ObjectIdentifier(Thread.current) } }
    operation.cancel()
    let startingThread = await onThread {
      operation.start()
      return ObjectIdentifier(Thread.current)
    }
    #expect(completionThread.current == startingThread)
  }

  @Test("3.1.2 completion runs under no lock: another thread uses the operation meanwhile")
  func completion_whileRunning_holdsNoLock() async {
    let operation = HeldOperation<Int>()
    let inCompletion = Gate()
    let otherIsDone = Gate()
    operation.completion = { _ in
      inCompletion.open()
      otherIsDone.waitBlocking()
    }
    operation.start()
    async let settling = onThread { operation.finish(with: 1) }
    async let other = onThread {
      inCompletion.waitBlocking()
      let seen = operation.outcome?.value
      operation.cancel()
      let second = operation.finish(with: 2)
      operation.onCancel = {}
      _ = (operation.isCancelled, operation.isExecuting, operation.isFinished, operation.isReady)
      operation.start()
      otherIsDone.open()
      return seen == 1 && !second
    }
    #expect(await settling)
    #expect(await other)
    #expect(operation.result == 1)
    #expect(!operation.isCancelled)
  }

  @Test("3.1.2 A composite's completion runs under no lock: another thread uses the composite meanwhile")
  func compositeCompletion_whileRunning_holdsNoLock() async {
    let composite = CompositeOperation(operations: [succeeding(1), succeeding(2)])
    let inCompletion = Gate()
    let otherIsDone = Gate()
    composite.completion = { _ in
      inCompletion.open()
      otherIsDone.waitBlocking()
    }
    async let other = onThread {
      inCompletion.waitBlocking()
      let seen = composite.results as? [Int]
      composite.cancel()
      composite.isSuspended = true
      composite.maxConcurrentOperationCount = 1
      _ = (composite.childOutcomes, composite.operations, composite.errors)
      otherIsDone.open()
      return seen
    }
    let outcome = await outcomeOfStarting(composite)
    #expect(await other == [1, 2])
    #expect(outcome.value as? [Int] == [1, 2])
  }

  @Test("3.1.2 completion may start and settle other operations")
  func completion_startsAnother_works() async {
    let second = HeldOperation<Int>()
    let first = HeldOperation<Int>()
    first.completion = { _ in
      second.start()
      second.finish(with: 2)
    }
    first.start()
    first.finish(with: 1)
    #expect(second.result == 2)
    #expect(second.isFinished)
  }
}
