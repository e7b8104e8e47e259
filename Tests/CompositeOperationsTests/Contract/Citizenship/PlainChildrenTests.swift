import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("6 Foundation: plain and conforming children", .hangLimit)
struct PlainChildrenTests {
  @Test("A synchronous plain child is finished when the composite is")
  func plain_synchronous_isFinished() async {
    let recorder = EventRecorder<String>()
    let child = RecordingPlainOperation("child", recorder: recorder)
    #expect(await outcomeOfStarting(CompositeOperation(operations: [child])).value?.count == 1)
    #expect(recorder.events == ["child start", "child main"])
    #expect(child.isFinished)
  }

  @Test("An asynchronous plain child is waited for", arguments: [true, false])
  func plain_asynchronous_isWaitedFor(isSequential: Bool) async {
    let child = AsyncPlainOperation()
    let composite =
      isSequential
      ? CompositeOperation(sequence: ListSequence([child])) : CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    await child.started.wait()
    #expect(composite.outcome == nil)
    child.complete()
    #expect(await settled(composite).value?.first is Void)
  }

  @Test("1,000 asynchronous plain children run at once and are all waited for")
  func plain_thousandAsynchronous_areWaitedFor() async {
    let children = (0..<1000).map { _ in AsyncPlainOperation() }
    let composite = CompositeOperation(operations: children)
    await onWorker { composite.start() }
    for child in children { await child.started.wait() }
    for child in children.shuffled() { child.complete() }
    #expect(await settled(composite).value?.count == 1000)
  }

  @Test("1,000 asynchronous plain children that finish from many threads while others start")
  func plain_thousandFinishingAtOnce_areWaitedFor() async {
    let children = (0..<1000).map { _ in
      AsyncPlainOperation { operation in DispatchQueue.global().async { operation.complete() } }
    }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 50
    #expect(await outcomeOfStarting(composite).value?.count == 1000)
  }

  @Test("1,000 asynchronous plain children, one fails the composite: all are cancelled")
  func plain_thousandAsynchronous_areCancelled() async {
    let children = (0..<1000).map { _ in AsyncPlainOperation() }
    let failing = HeldOperation<Int>()
    let composite = CompositeOperation(operations: children + [failing])
    await onWorker { composite.start() }
    await failing.started.wait()
    failing.reject(with: TestError.first)
    #expect(await settled(composite).error is CompositeError)
    #expect(children.allSatisfy { $0.isFinished && $0.isCancelled })
  }

  @Test("A running asynchronous plain child is cancelled with the composite and waited for")
  func plain_running_isCancelled() async {
    let child = AsyncPlainOperation(ignoresCancel: true)
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    await child.started.wait()
    composite.cancel()
    #expect(child.cancelRequested.isOpen)
    #expect(composite.outcome == nil)
    child.complete()
    #expect(await settled(composite).isCancelled)
  }

  @Test("maxConcurrentOperationCount counts unfinished asynchronous plain children")
  func plain_asynchronous_countAgainstTheLimit() async {
    let children = (0..<6).map { _ in AsyncPlainOperation() }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    for index in 0..<6 {
      await children[index].started.wait()
      #expect(children.count { $0.isExecuting } <= 2)
      children[index].complete()
    }
    #expect(await settled(composite).value?.count == 6)
  }

  @Test("A conforming child counts with its outcome", arguments: [true, false])
  func conforming_ofEachKind_countsWithItsOutcome(isAsynchronous: Bool) async {
    for outcome: Outcome<Int> in [.success(1), .failure(TestError.first), .cancelled] {
      let child: Operation
      if isAsynchronous {
        let operation = AsyncConformingOperation<Int>()
        operation.started.whenOpen { operation.settle(outcome) }
        child = operation
      } else {
        child = ConformingOperation<Int> { outcome }
      }
      let composite = CompositeOperation(operations: [child])
      #expect(Ending(await outcomeOfStarting(composite)) == Ending(outcome))
      #expect(composite.childOutcomes.map { Ending($0) } == [Ending(outcome)])
    }
  }

  @Test("A conforming child that is cancelled while it runs")
  func conforming_running_isCancelled() async {
    let child = AsyncConformingOperation<Int>(ignoresCancel: true)
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    await child.started.wait()
    composite.cancel()
    #expect(child.cancelRequested.isOpen)
    child.settle(.success(1))
    #expect(await settled(composite).isCancelled)
  }

  @Test("value, run() and OperationQueue.run of a conforming operation")
  func conforming_awaited_givesItsOutcome() async throws {
    #expect(try await ConformingOperation<Int> { .success(1) }.run() == 1)
    await #expect(throws: TestError.first) { try await ConformingOperation<Int> { .failure(TestError.first) }.run() }
    #expect(try await OperationQueue().run(ConformingOperation<Int> { .success(2) }) == 2)
    let asynchronous = AsyncConformingOperation<Int>()
    let waiter = Task { try await asynchronous.value }
    asynchronous.start()
    asynchronous.settle(.success(3))
    #expect(try await waiter.value == 3)
    #expect(try await asynchronous.value == 3)
    #expect(try await asynchronous.run() == 3)
  }

  @Test("Cancelling the task of run() cancels a conforming operation")
  func conforming_runCancelled_isCancelled() async {
    let operation = AsyncConformingOperation<Int>()
    let runner = Task { try await operation.run() }
    await operation.started.wait()
    runner.cancel()
    await #expect(throws: CancellationError.self) { try await runner.value }
    #expect(operation.isCancelled)
  }

  @Test("A conforming child that finishes without an outcome fails the composite with a clear error")
  func conforming_finishingWithoutOutcome_fails() async throws {
    let child = Forgetful()
    child.name = "forgetful"
    let error = try #require(await outcomeOfStarting(CompositeOperation(operations: [child])).error)
    #expect("\(error)".contains("forgetful"))
    #expect("\(error)".contains("outcome"))
  }
}

/// Conforms, but never has an outcome.
private final class Forgetful: Operation, ComposableOperation, @unchecked Sendable {
  var outcome: Outcome<Int>? { nil }
}
