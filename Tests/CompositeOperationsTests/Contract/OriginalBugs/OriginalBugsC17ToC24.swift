import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("The original's bugs C17 to C24", .hangLimit)
struct OriginalBugsC17ToC24 {
  @Test("C17 Nothing is called under a lock: while completion or onCancel runs, another thread uses the operation")
  func c17_callingOut_holdsNoLock() async {
    let completing = HeldOperation<Int>()
    let cancelling = HeldOperation<Int>()
    let isCalled = (completion: Gate(), onCancel: Gate())
    let otherIsDone = (completion: Gate(), onCancel: Gate())
    completing.completion = { _ in
      isCalled.completion.open()
      otherIsDone.completion.waitBlocking()
    }
    cancelling.onCancel = {
      isCalled.onCancel.open()
      otherIsDone.onCancel.waitBlocking()
    }
    completing.start()
    cancelling.start()
    async let settlingDone = onThread { completing.finish(with: 1) }
    async let cancellingDone: Void = onThread { cancelling.cancel() }
    async let completed = onThread {
      isCalled.completion.waitBlocking()
      let seen = completing.result
      completing.cancel()
      completing.finish(with: 2)
      otherIsDone.completion.open()
      return seen
    }
    async let cancelled = onThread {
      isCalled.onCancel.waitBlocking()
      cancelling.cancel()
      cancelling.finish(with: 2)
      otherIsDone.onCancel.open()
      return cancelling.isFinished
    }
    #expect(await completed == 1)
    #expect(await cancelled)
    #expect(await settlingDone)
    await cancellingDone
    #expect(cancelling.outcome?.isCancelled == true)
  }

  @Test("C18 finish, reject and cancel from several threads leave one outcome that everybody sees alike")
  func c18_racingSettles_areConsistent() async {
    for _ in 0..<300 {
      let operation = HeldOperation<Int>()
      let spy = CompletionSpy<Int>()
      operation.completion = spy.completion
      operation.start()
      async let finished = onWorker { operation.finish(with: 1) }
      async let rejected = onWorker { operation.reject(with: TestError.first) }
      async let cancelled: Void = onWorker { operation.cancel() }
      let (didFinish, didReject, _) = await (finished, rejected, cancelled)
      let ending = Ending(operation.outcome)
      #expect(didFinish == (ending == .success))
      #expect(didReject == (ending == .failure))
      #expect(operation.isCancelled == (ending == .cancelled))
      #expect(spy.outcomes.map { Ending($0) } == [ending])
    }
  }

  @Test("C19 No built-in limit of four, and nested composites on one full queue finish")
  func c19_limits_areNotBuiltIn() async {
    let children = (0..<12).map { _ in HeldOperation<Int>() }
    let wide = CompositeOperation(operations: children)
    await onWorker { wide.start() }
    for child in children { await child.started.wait() }
    for child in children { child.finish(with: 1) }
    #expect(await settled(wide).value?.count == 12)

    let queue = OperationQueue(limit: 1)
    let nested = (0..<3).map { _ in
      CompositeOperation(
        operations: [CompositeOperation(operations: [succeeding(1), AsyncOperation { 2 }], operationQueue: queue)],
        operationQueue: queue)
    }
    queue.add(nested)
    for composite in nested { #expect(await settled(composite).value?.count == 1) }
  }

  @Test("C20 completion runs on one documented thread: the one that settled the operation")
  func c20_completion_runsOnTheSettlingThread() async {
    let operation = HeldOperation<Int>()
    let thread = Locked<ObjectIdentifier?>(nil)
    operation.completion = { _ in thread.withLock { $0 = ObjectIdentifier(Thread.current) } }
    operation.start()
    let settling = await onThread {
      operation.finish(with: 1)
      return ObjectIdentifier(Thread.current)
    }
    #expect(thread.current == settling)
  }

  @Test("C21 The children are copied, and one given twice is reported")
  func c21_children_areValidated() async throws {
    var children: [Operation] = [succeeding(1, named: "download")]
    let composite = CompositeOperation(operations: children)
    children.append(succeeding(2))
    #expect(composite.operations.count == 1)
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1])

    let child = succeeding(1, named: "download")
    let error = try #require(await outcomeOfStarting(CompositeOperation(operations: [child, child])).error)
    #expect("\(error)".contains("download"))
  }

  @Test("C22 Each step of a LinearSequence is evaluated once")
  func c22_steps_areEvaluatedOnce() async {
    let evaluations = EventRecorder<Int>()
    let sequence = LinearSequence(
      steps: (0..<5).map { number in
        { _ in
          evaluations.record(number)
          return succeeding(number)
        }
      })
    #expect(await outcomeOfStarting(CompositeOperation(sequence: sequence)).value as? [Int] == [0, 1, 2, 3, 4])
    #expect(evaluations.events == [0, 1, 2, 3, 4])
  }

  @Test("C23 One error type, one spelling: error is a CompositeError and errors are its causes")
  func c23_errors_haveOneForm() async throws {
    let composite = CompositeOperation(
      sequence: LinearSequence({ previous in
        #expect(previous == nil)
        return failing(TestError.first, named: "fetch")
      }))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map { $0.error as? TestError } == [.first])
    #expect(composite.errors as? [TestError] == [.first])
    #expect("\(error)".contains("fetch"))
  }

  @Test("C24 A composite whose children run on the main queue leaves it to others in between")
  func c24_compositeOnMainQueue_letsOthersIn() async {
    let child = SimpleOperation<Int> { $0.finish(with: 1) }
    let held = HeldOperation<Int>()
    let mainDependent = BlockOperation {}
    // The held child runs elsewhere while the composite waits for it: the main queue is free
    // meanwhile.
    let composite = CompositeOperation(operations: [
      CompositeOperation(operations: [child], operationQueue: .main), held,
    ])
    await onWorker { composite.start() }
    await held.started.wait()
    _ = await settled(child)
    OperationQueue.main.addOperation(mainDependent)
    await finished(mainDependent)
    #expect(composite.outcome == nil)
    held.finish(with: 2)
    #expect(await settled(composite).value?.count == 2)
  }
}
