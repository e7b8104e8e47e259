import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Attempts have an identity: what comes late is dropped, and told.
@Suite("4 Attempts", .timeLimit(.minutes(30)))
struct AttemptTests {
  @Test("A retry need not wait for the cancelled attempt, whose result is dropped and told")
  func retry_whileOldAttemptWindsDown_startsNewOne() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let held = workflow.addHeld("held")
    let after = workflow.add("after", after: held.task) { succeeding($0) }
    async let outcome = workflow.outcomeOfRun()
    let first = await held.attempt(1)
    #expect(held.task.cancel())
    #expect(held.task.state == .cancelled && after.state == .cancelled && first.isCancelled)
    #expect(held.task.retry())
    let second = await held.attempt(2)
    #expect(held.task.attempt == 2 && held.task.state == .executing)
    first.finish(with: 1)
    await delegate.events.wait(for: "held discarded 1")
    #expect(held.task.state == .executing && held.task.result == nil)
    second.finish(with: 2)
    #expect(await outcome.word == "success")
    #expect(held.task.result == 2 && after.result == 2)
  }

  @Test("A settlement that comes after a reset is dropped, and the workflow waits for it")
  func reset_whileExecuting_dropsTheResult() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let operation = workflow.makeOperation()
    await onWorker { operation.start() }
    let first = await held.attempt(1)
    #expect(held.task.reset())
    #expect(held.task.state == .ready && first.isCancelled && workflow.isRunning)
    first.finish(with: 1)
    #expect(await settled(operation).isCancelled)
    #expect(held.task.state == .ready && held.task.result == nil && held.task.attempt == 1)
    #expect(workflow.outcome == nil)
  }

  @Test("The newer attempt ends first: the older one's failure does not count")
  func oldAttempt_failingLast_doesNotCount() async {
    let workflow = Workflow()
    let made = Locked(0)
    let gates = [Gate(), Gate()]
    // Operations that know nothing of being cancelled, and give their results all the same.
    let operations = (0..<2).map { number in
      AsyncConformingOperation<Int>(ignoresCancel: true).settling(when: gates[number], with: .success(number))
    }
    let task = workflow.add("task") { operations[made.increment() - 1] }
    async let outcome = workflow.outcomeOfRun()
    await operations[0].started.wait()
    task.cancel()
    task.retry()
    await operations[1].started.wait()
    gates[1].open()
    await until(task.state == .finished)
    #expect(workflow.isRunning && task.result == 1)
    gates[0].open()
    #expect(await outcome.word == "success")
    #expect(task.result == 1)
  }

  @Test("A snapshot of the inputs is taken when the attempt starts: a reset of the prerequisite does not change it")
  func inputs_afterReset_stayWhatTheyWere() async throws {
    let workflow = Workflow()
    let number = Locked(0)
    let source = workflow.add("source") { succeeding(number.increment()) }
    let (started, gate) = (Gate(), Gate())
    let seen = EventRecorder<Int>()
    let reader = workflow.add("reader", keyed: ["source": source]) { results in
      started.open()
      await gate.wait()
      seen.record(results["source", as: Int.self])
      return 1
    }
    workflow.start()
    await started.wait()
    source.reset()
    #expect(source.result == nil && reader.state == .pending)
    gate.open()
    await seen.wait(for: 1)
    await workflow.untilIdle()
    try await workflow.run()
    #expect(seen.events == [1, 2])
  }

  @Test("A task that waits for room is not started when it is reset, and is when it is started again")
  func reset_whileWaitingForRoom_takesItOut() async throws {
    let workflow = Workflow()
    workflow.maxConcurrentOperationCount = 1
    let held = workflow.addHeld("held")
    let waiting = workflow.addEmpty("waiting")
    workflow.start()
    let operation = await held.attempt(1)
    #expect(waiting.state == .ready && !waiting.start())
    #expect(waiting.reset())
    #expect(waiting.state == .ready)
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(waiting.state == .ready && waiting.attempt == 0 && workflow.outcome == nil)
    try await workflow.run()
    #expect(waiting.attempt == 1)
  }

  @Test("Cancelled and retried again and again while it waits for room, a task runs once")
  func cancelAndRetry_whileWaitingForRoom_runsOnce() async {
    let workflow = Workflow()
    workflow.maxConcurrentOperationCount = 1
    let held = workflow.addHeld("held")
    let waiting = workflow.addEmpty("waiting")
    workflow.start()
    let operation = await held.attempt(1)
    for _ in 0..<10 {
      #expect(waiting.cancel() && waiting.retry())
    }
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(waiting.attempt == 1 && workflow.outcome?.word == "success")
  }

  @Test("Cancelled while its operation is being made, it is cancelled as soon as it is made")
  func cancel_whileMaking_cancelsTheOperation() async {
    let workflow = Workflow()
    let ran = Gate()
    let task = workflow.add("task") { [weak workflow] in
      workflow?.cancel()
      return SimpleOperation<Int> { operation in
        ran.open()
        operation.finish(with: 1)
      }
    }
    #expect(await workflow.outcomeOfRun().isCancelled)
    #expect(task.state == .cancelled && !ran.isOpen)
  }

  @Test("A run whose operation was cancelled drains; a new run begins meanwhile, and waits for what is left of the old")
  func newRun_whileOldOneDrains_waitsForAll() async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let first = workflow.makeOperation()
    await onWorker { first.start() }
    let old = await held.attempt(1)
    first.cancel()
    #expect(held.task.state == .cancelled && workflow.isRunning)
    held.task.retry()
    let new = await held.attempt(2)
    new.finish(with: 2)
    await until(held.task.state == .finished)
    #expect(workflow.isRunning && workflow.outcome == nil && first.outcome == nil)
    old.finish(with: 1)
    #expect(await settled(first).isCancelled)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success" && held.task.result == 2)
  }

  @Test("What is reset while a cancelled run drains can run again: the run has paused, and there is no outcome")
  func reset_whileACancelledRunEnds_leavesNoOutcome() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let held = workflow.addHeld("held")
    let operation = workflow.makeOperation()
    await onWorker { operation.start() }
    let first = await held.attempt(1)
    operation.cancel()
    #expect(workflow.reset())
    #expect(held.task.state == .ready && workflow.isRunning)
    first.finish(with: 1)
    #expect(await settled(operation).isCancelled)
    await workflow.untilIdle()
    #expect(held.task.state == .ready && workflow.outcome == nil && workflow.finishDate != nil)
    #expect(delegate.events.contains("workflow paused") && !delegate.events.contains("workflow cancelled"))
    async let outcome = workflow.outcomeOfRun()
    let second = await held.attempt(2)
    second.finish(with: 2)
    #expect(await outcome.word == "success")
  }

  /// Holds up the thread that tells of the start of the first of two tasks. The start of the other
  /// one waits until that has been told.
  private final class FirstStart: Sendable {
    private let (inside, goOn) = (Gate(), Gate())
    let delegate: EventDelegate

    init() {
      delegate = EventDelegate { [inside, goOn, starts = Locked(0)] event in
        guard event.kind == .started, starts.increment() == 1 else { return }
        inside.open()
        goOn.waitBlocking()
      }
    }

    func letGo(in workflow: Workflow) async {
      await inside.wait()
      await until(workflow.states == [.executing, .executing])
      goOn.open()
    }
  }

  @Test(
    "An operation that other code has started is awaited, in a queue, too, and after another thread has told of the start",
    arguments: [false, true], [false, true])
  func operationOfOthers_isAwaited(inQueue: Bool, isTold: Bool) async {
    let workflow = Workflow()
    let shared = [HeldOperation<Int>(), HeldOperation<Int>()]
    for operation in shared { await onWorker { operation.start() } }
    let firstStart = FirstStart()
    if isTold { workflow.delegate = firstStart.delegate }
    let tasks = shared.map { operation in
      workflow.add(operationQueue: inQueue ? OperationQueue() : nil) { operation }
    }
    DispatchQueue.global().async { workflow.start() }
    if isTold { await firstStart.letGo(in: workflow) }
    for (task, operation) in zip(tasks, shared) { await until(task.operation === operation) }
    for (number, operation) in shared.enumerated() { operation.finish(with: number) }
    await workflow.untilIdle()
    #expect(tasks.map(\.result) == [0, 1])
    #expect(tasks.allSatisfy { $0.error == nil })
    withExtendedLifetime(firstStart) {}
  }

  @Test("An operation started by other code is cancelled with its task, also in a queue", arguments: [false, true])
  func operationOfOthers_isCancelledWithItsTask(inQueue: Bool) async {
    let workflow = Workflow()
    let shared = HeldOperation<Int>()
    await onWorker { shared.start() }
    let task = workflow.add(operationQueue: inQueue ? OperationQueue() : nil) { shared }
    workflow.start()
    await until(task.operation === shared)
    task.cancel()
    #expect(shared.isCancelled)
    shared.finish(with: 1)
    await workflow.untilIdle()
    #expect(task.state == .cancelled)
  }

  @Test(
    "An operation started by other code is cancelled if its task is cancelled while the closure returns it",
    arguments: [false, true], [false, true])
  func operationOfOthers_taskCancelledAsItIsMade_isCancelled(inQueue: Bool, isTold: Bool) async {
    let workflow = Workflow()
    let shared = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    for operation in shared { await onWorker { operation.start() } }
    let firstStart = FirstStart()
    if isTold { workflow.delegate = firstStart.delegate }
    let (making, goOnMaking) = (EventRecorder<String>(), Gate())
    let tasks = shared.map { operation in
      workflow.add(operationQueue: inQueue ? OperationQueue() : nil) {
        making.record("making")
        goOnMaking.waitBlocking()
        return operation
      }
    }
    DispatchQueue.global().async { workflow.start() }
    if isTold { await firstStart.letGo(in: workflow) }
    await making.wait(forCount: 2)
    for task in tasks { #expect(task.cancel()) }
    goOnMaking.open()
    await workflow.untilIdle()
    #expect(shared.filter { !$0.isCancelled }.isEmpty)
    #expect(workflow.states == [.cancelled, .cancelled])
    withExtendedLifetime(firstStart) {}
  }
}

extension AsyncConformingOperation {
  /// The operation, which settles when the gate opens.
  func settling(when gate: Gate, with outcome: Outcome<Value>) -> Self {
    gate.whenOpen { self.settle(outcome) }
    return self
  }
}
