import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// How many tasks run at once, and where.
@Suite("4 Limits and queues", .timeLimit(.minutes(30)))
struct LimitTests {
  private func addMeasured(_ count: Int, to workflow: Workflow, _ gauge: ConcurrencyGauge, queue: OperationQueue? = nil)
  {
    for _ in 0..<count {
      _ = workflow.add(operationQueue: queue) {
        gauge.enter()
        await Task.yield()
        gauge.leave()
      }
    }
  }

  @Test("The limit counts asynchronous work, and is used to the full", arguments: 1...3)
  func limit_countsAsyncWork(limit: Int) async {
    let workflow = Workflow()
    workflow.maxConcurrentOperationCount = limit
    #expect(workflow.maxConcurrentOperationCount == limit)
    let tasks = (0..<6).map { _ in workflow.addHeld() }
    workflow.start()
    for (number, held) in tasks.enumerated() {
      for other in tasks[number..<min(number + limit, 6)] { _ = await other.attempt(1) }
      // The place of one that has settled may be taken before the workflow is told of that.
      await until(tasks[..<number].allSatisfy { $0.task.state == .finished })
      #expect(workflow.states.count { $0 == .executing } == limit || number + limit > 6)
      await held.attempt(1).finish(with: 1)
    }
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
  }

  @Test("The limit may change while the workflow runs")
  func limit_changed_holdsFromTheNextTask() async {
    let workflow = Workflow()
    workflow.maxConcurrentOperationCount = 1
    let tasks = (0..<3).map { _ in workflow.addHeld() }
    workflow.start()
    let first = await tasks[0].attempt(1)
    #expect(tasks[1].operations.count == 0)
    workflow.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    let rest = (await tasks[1].attempt(1), await tasks[2].attempt(1))
    for operation in [first, rest.0, rest.1] { operation.finish(with: 1) }
    await workflow.untilIdle()
    #expect(workflow.maxConcurrentOperationCount == OperationQueue.defaultMaxConcurrentOperationCount)
  }

  @Test("Set from many threads at once, while a run begins, it is the last one that holds")
  func limit_changedConcurrently_lastOneHolds() async {
    for _ in 0..<20 {
      let workflow = Workflow()
      let tasks = (0..<4).map { _ in workflow.addHeld() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { workflow.start() }
        for limit in 1...3 { group.addTask { workflow.maxConcurrentOperationCount = limit } }
      }
      let limit = workflow.maxConcurrentOperationCount
      // As many run as it allows; more may have started before it was set.
      for (number, held) in tasks.enumerated() {
        for other in tasks[number..<min(number + limit, 4)] { _ = await other.attempt(1) }
        await held.attempt(1).finish(with: 1)
      }
      await workflow.untilIdle()
      #expect(workflow.outcome?.word == "success")
    }
  }

  @Test("In a given queue tasks take its slots, asynchronous ones included, and only those that can run reach it")
  func queue_given_isKeptTo() async throws {
    let queue = OperationQueue(limit: 2)
    let workflow = Workflow("queued", operationQueue: queue)
    let gauge = ConcurrencyGauge()
    let gate = workflow.addHeld("gate")
    for _ in 0..<20 {
      _ = workflow.add(after: gate.task) { _ in
        gauge.enter()
        await Task.yield()
        gauge.leave()
      }
    }
    workflow.start()
    let operation = await gate.attempt(1)
    #expect(queue.operationCount <= 2)
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(gauge.total == 20 && gauge.maximum <= 2)
  }

  @Test("A task's own queue counts for it alone")
  func queue_ofTask_isKeptTo() async throws {
    let own = OperationQueue(limit: 1)
    let workflow = Workflow("mixed", operationQueue: OperationQueue(limit: 3))
    let (inOwn, inWorkflows) = (ConcurrencyGauge(), ConcurrencyGauge())
    addMeasured(8, to: workflow, inOwn, queue: own)
    addMeasured(8, to: workflow, inWorkflows)
    let failing = workflow.add("failing", operationQueue: own) { () throws -> SimpleOperation<Int> in
      succeedingLater(.failure(TestError.first))
    }
    #expect(await workflow.outcomeOfRun().word == "failure")
    #expect(inOwn.total == 8 && inOwn.maximum == 1)
    #expect(inWorkflows.total == 8 && inWorkflows.maximum <= 3)
    #expect(failing.error as? TestError == .first)
  }

  @Test("A task in the main queue runs there, others do not")
  func queue_main_runsThere() async throws {
    let workflow = Workflow()
    let onMain = workflow.add(operationQueue: .main) {
      SimpleOperation<Bool> { $0.finish(with: OperationQueue.current === OperationQueue.main) }
    }
    let onWorker = workflow.add {
      SimpleOperation<Bool> { $0.finish(with: OperationQueue.current === OperationQueue.main) }
    }
    try await workflow.run()
    #expect(onMain.result == true && onWorker.result == false)
  }

  @Test("A suspended queue holds its tasks; cancelling all its operations cancels them")
  func queue_cancelled_cancelsTasks() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let workflow = Workflow("queued", operationQueue: queue)
    let first = workflow.add("first") { succeeding(1) }
    let second = workflow.addEmpty("second", after: first)
    workflow.start()
    #expect(first.state == .ready)
    queue.cancelAllOperations()
    queue.isSuspended = false
    await workflow.untilIdle()
    #expect(first.state == .cancelled && second.state == .cancelled && workflow.outcome?.word == "cancelled")
  }

  @Test("An operation of a cancelled task keeps its place until it has settled")
  func limit_countsAbandonedAttempts() async {
    let workflow = Workflow()
    workflow.maxConcurrentOperationCount = 1
    let held = workflow.addHeld("held")
    let other = workflow.addEmpty("other")
    workflow.start()
    let operation = await held.attempt(1)
    held.task.cancel()
    #expect(other.state == .ready)
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(other.state == .finished && workflow.outcome?.word == "cancelled")
  }
}

/// An operation that settles on another thread.
private func succeedingLater<Value: Sendable>(_ outcome: Outcome<Value>) -> SimpleOperation<Value> {
  SimpleOperation { operation in
    DispatchQueue.global().async { operation.settle(with: outcome) }
  }
}
