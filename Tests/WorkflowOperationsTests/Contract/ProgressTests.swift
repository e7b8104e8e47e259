import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// How far a workflow is: the tasks that have finished, of all, and the part of those that run.
@Suite("8 Progress of workflows", .timeLimit(.minutes(30)))
struct ProgressTests {
  @Test func workflow_whileItRuns_countsFinishedTasks() async {
    let held = HeldOperation<Int>()
    let workflow = Workflow("Order")
    let first = workflow.add("first") { succeeding(1) }
    let second = workflow.add("second", after: first) { _ in held }
    workflow.add("third", after: second) { _ in succeeding(3) }
    workflow.add("fourth") { succeeding(4) }
    let operation = workflow.makeOperation()
    let outer = operation.map { _ in 1 }
    #expect(outer.fractionCompleted == 0)
    async let outcome = outcomeOfStarting(outer)
    await held.started.wait()
    await until(operation.fractionCompleted == 0.5)
    held.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0.625 && outer.fractionCompleted == 0.625)
    #expect(!operation.isProgressIndeterminate)
    held.finish(with: 2)
    #expect(await outcome.value == 1)
    #expect(operation.fractionCompleted == 1)
  }

  @Test func progress_ofAConditionThatIsFulfilled_moves() async {
    let held = HeldOperation<Int>()
    let workflow = Workflow("Order")
    let condition = workflow.addCondition("condition", of: Int.self)
    let task = workflow.add("task") { held }
    let last = workflow.addCondition("last", of: Int.self)
    workflow.addEmpty("after", after: last)
    // Those outside are told, and do not ask.
    let outer = workflow.makeOperation().map { _ in 1 }
    let joined = workflow.makeOperation()
    let outerOfJoined = joined.map { _ in 2 }
    #expect(outer.fractionCompleted == 0 && outerOfJoined.fractionCompleted == 0)
    async let outcome = outcomeOfStarting(outer)
    await held.started.wait()
    async let outcomeOfJoined = outcomeOfStarting(outerOfJoined)
    await until(joined.isExecuting)
    #expect(condition.fulfill(with: 1))
    await until(outer.fractionCompleted == 0.25 && outerOfJoined.fractionCompleted == 0.25)
    #expect(task.finish(with: 2))
    await until(outer.fractionCompleted == 0.5 && outerOfJoined.fractionCompleted == 0.5)
    held.finish(with: 2)
    #expect(last.fulfill(with: 3))
    #expect(await outcome.value == 1)
    #expect(await outcomeOfJoined.value == 2)
  }

  @Test func fraction_passedOnAfterItsTaskHasFinished_doesNotCount() async {
    let held = HeldOperation<Int>()
    // It is told before the workflow is.
    held.addObserver { [weak held] event in
      if event.fractionCompleted == 0.9 { held?.finish(with: 1) }
    }
    let workflow = Workflow("Order")
    let task = workflow.add("task") { held }
    let conditions = (1..<10).map { workflow.addCondition("condition \($0)", of: Int.self) }
    let operation = workflow.makeOperation()
    #expect(operation.fractionCompleted == 0)
    async let outcome = outcomeOfStarting(operation)
    await held.started.wait()
    held.reportProgress(0.9)
    await until(task.state == .finished)
    #expect(operation.fractionCompleted == 0.1)
    for condition in conditions { condition.fulfill(with: 1) }
    #expect(await outcome.value === workflow)
  }
}
