import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Conditions: waiting is not failing.
@Suite("4 External conditions", .timeLimit(.minutes(30)))
struct ConditionTests {
  @Test("Fulfilled before the start, it keeps the value and starts nothing; then it finishes at once")
  func fulfill_beforeStart_startsNothing() async throws {
    let workflow = Workflow()
    let condition = workflow.addCondition("ready", of: String.self)
    let after = workflow.add("after", after: condition) { succeeding($0) }
    #expect(condition.fulfill(with: "yes") && condition.isFulfilled)
    #expect(!condition.fulfill(with: "no"))
    #expect(condition.state == .ready && after.state == .pending && !workflow.isRunning)
    try await workflow.run()
    #expect(after.result == "yes" && condition.attempt == 1)
  }

  @Test("Not fulfilled, it executes and waits, and the workflow with it; nothing fails")
  func start_unfulfilled_waits() async throws {
    let workflow = Workflow()
    let condition = workflow.addCondition("ready", of: Int.self)
    let after = workflow.add("after", after: condition) { succeeding($0) }
    workflow.start()
    #expect(condition.state == .executing && after.state == .pending)
    #expect(workflow.isRunning && !workflow.hasFailedTasks)
    #expect(condition.fulfill(with: 3))
    #expect(condition.state == .finished)
    await workflow.untilIdle()
    #expect(after.result == 3 && workflow.outcome?.word == "success")
  }

  @Test("With prerequisites it waits for them, fulfilled or not")
  func prerequisites_ofCondition_comeFirst() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let condition = workflow.addCondition("ready", of: Int.self, after: held.task)
    workflow.start()
    let operation = await held.attempt(1)
    condition.fulfill(with: 1)
    #expect(condition.state == .pending)
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(condition.result == 1)
  }

  @Test("Reset drops the value, in every state; cancel and retry keep it")
  func reset_dropsTheValue() async throws {
    let workflow = Workflow()
    let condition = workflow.addCondition("ready", of: Int.self)
    condition.fulfill(with: 1)
    #expect(condition.reset() && !condition.isFulfilled)
    condition.fulfill(with: 2)
    try await workflow.run()
    #expect(condition.result == 2 && !condition.fulfill(with: 3))
    #expect(condition.reset() && condition.result == nil && !condition.isFulfilled)
    condition.fulfill(with: 4)
    condition.cancel()
    #expect(condition.isFulfilled && condition.state == .cancelled)
    condition.retry()
    await workflow.untilIdle()
    #expect(condition.result == 4)
  }

  @Test("Cancelled while it waits, it can be retried, and waits again")
  func cancel_whileWaiting_endsTheWait() async {
    let workflow = Workflow()
    let condition = workflow.addCondition("ready", of: Void.self)
    let after = workflow.addEmpty("after", after: condition)
    async let outcome = workflow.outcomeOfRun()
    await until(condition.state == .executing)
    workflow.cancel()
    #expect(await outcome.isCancelled)
    workflow.retry()
    #expect(condition.state == .executing && condition.attempt == 2)
    condition.fulfill()
    await workflow.untilIdle()
    #expect(after.state == .finished)
  }

  @Test("Rejected while it waits, it fails; before that nothing happens")
  func reject_whileWaiting_fails() async {
    let workflow = Workflow()
    let condition = workflow.addCondition("ready", of: Int.self)
    #expect(!condition.reject(with: TestError.first) && condition.state == .ready)
    workflow.start()
    #expect(condition.reject(with: TestError.first))
    #expect(condition.error as? TestError == .first)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "failure")
    condition.retry()
    condition.fulfill(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
  }

  @Test("A condition takes no place in the limit, nor a slot of the queue")
  func condition_waiting_takesNoPlace() async {
    let queue = OperationQueue(limit: 1)
    let workflow = Workflow("limited", operationQueue: queue)
    workflow.maxConcurrentOperationCount = 1
    let condition = workflow.addCondition("ready", of: Int.self)
    let other = workflow.add("other") { succeeding(1) }
    workflow.start()
    await until(other.state == .finished)
    #expect(condition.state == .executing)
    condition.fulfill(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
  }

  @Test("Fulfilled from many threads at once, one of them wins, and it finishes with that value")
  func fulfill_racing_oneWins() async {
    for _ in 0..<50 {
      let workflow = Workflow()
      let condition = workflow.addCondition("ready", of: Int.self)
      workflow.start()
      let winners = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<4 { group.addTask { condition.fulfill(with: number) ? number : nil } }
        return await group.reduce(into: []) { winners, winner in winner.map { winners.append($0) } }
      }
      await workflow.untilIdle()
      #expect(winners.count == 1 && condition.result == winners.first)
    }
  }
}
