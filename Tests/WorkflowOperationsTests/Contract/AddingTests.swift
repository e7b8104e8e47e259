import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Adding tasks, and what their closures are given.
@Suite("4 Adding tasks", .timeLimit(.minutes(30)))
struct AddingTests {
  @Test("Operation and async forms, with as many typed inputs as there are prerequisites, in their order")
  func add_withTypedPrerequisites_givesTheirValues() async throws {
    let workflow = Workflow("types")
    let none = workflow.add("none") { SimpleOperation { $0.finish(with: 7) } }
    let async = workflow.add("async") { await Task { "text" }.value }
    let condition = workflow.addCondition("data", of: Data.self)
    let three = workflow.add("three", after: none, async, condition) { number, text, data in
      SimpleOperation<String> { $0.finish(with: "\(number) \(text) \(data.count)") }
    }
    let four = workflow.add("four", after: three, none) { text, number in
      await Task { String(repeating: text, count: number - 6) }.value
    }
    let same = workflow.add("same", after: none, none) { first, second in first + second }
    condition.fulfill(with: Data([1, 2, 3]))
    try await workflow.run()
    #expect(three.result == "7 text 3")
    #expect(four.result == "7 text 3")
    #expect(same.result == 14)
    #expect(same.prerequisites == [none])
    #expect(try three.outcome?.get() == "7 text 3")
  }

  @Test("The closure that makes an operation may make any kind, composites and subclasses included")
  func add_withOperations_takesEveryKind() async throws {
    let workflow = Workflow()
    let subclass = workflow.add { Doubling(4) }
    let composite = workflow.add { CompositeOperation(operations: [succeeding(1), succeeding("two")]) }
    let typed = workflow.add(after: subclass) { number in succeeding(number).map { $0 + 1 } }
    let conforming = workflow.add { ConformingOperation<Int> { .success(5) } }
    try await workflow.run()
    #expect(subclass.result == 8 && typed.result == 9 && conforming.result == 5)
    #expect(composite.result?.count == 2)
    #expect(workflow.tasks.map(\.name) == ["task 1", "task 2", "task 3", "task 4"])
  }

  @Test("Keyed prerequisites are read by key, all, unkeyed, keyed, any, and by task")
  func add_withKeys_givesResults() async throws {
    let workflow = Workflow("keys")
    let user = workflow.add("user") { succeeding("Ann") }
    let age = workflow.add("age") { succeeding(30) }
    let extra = workflow.add("extra") { succeeding(2.5) }
    let all = workflow.add(
      "all", keyed: ["user": user, "years": age, "again": user], unkeyed: [extra, user, extra], requiredKeys: ["user"]
    ) { results in
      #expect(results["user", as: String.self] == "Ann")
      #expect(results["years"] == 30)
      #expect(results[extra] == 2.5)
      #expect(results.all.first as? String == "Ann")
      #expect(results.all.map { "\($0)" } == ["Ann", "30", "2.5"])
      #expect(results.unkeyed.map { "\($0)" } == ["2.5"])
      #expect(results.keyed.mapValues { "\($0)" } == ["user": "Ann", "years": "30", "again": "Ann"])
      #expect(results[age] == 30)
      #expect(results.keyed["nobody"] == nil)
      return succeeding(true)
    }
    let work = workflow.add("work", keyed: ["age": age]) { results in await Task { results["age", as: Int.self] }.value
    }
    try await workflow.run()
    #expect(all.result == true && work.result == 30)
    #expect(all.prerequisites == [user, age, extra])
    #expect(all.keyedPrerequisites == ["user": user, "years": age, "again": user] && all.requiredKeys == ["user"])
    // One with a key is not without one, though it was given twice.
    #expect(all.unkeyedPrerequisites == [extra])
    #expect(user.keyedPrerequisites.isEmpty && user.unkeyedPrerequisites.isEmpty && user.requiredKeys.isEmpty)
    #expect(user.dependents == [all] && age.dependents == [all, work])
    #expect(workflow.roots == [user, age, extra] && workflow.leaves == [all, work])
    #expect(workflow.task(named: "age") == age && workflow.task(named: "none") == nil)
    let typed = workflow.add("typed", after: extra, user) { extra, user in succeeding("\(user) \(extra)") }
    #expect(typed.keyedPrerequisites.isEmpty && typed.unkeyedPrerequisites == [user, extra])
  }

  @Test("The queue that a workflow was given can be read")
  func operationQueue_isTheOneThatWasGiven() {
    let queue = OperationQueue()
    #expect(Workflow("order", operationQueue: queue).operationQueue === queue)
    #expect(Workflow("order").operationQueue == nil)
  }

  @Test("The order of all results is that of the tasks, whatever the order in which they are given")
  func results_all_areInTaskOrder() async throws {
    let workflow = Workflow()
    let tasks = (0..<5).map { number in workflow.add { succeeding(number) } }
    let sum = workflow.add(keyed: ["z": tasks[0], "a": tasks[4]], unkeyed: [tasks[3], tasks[1], tasks[2]]) { results in
      succeeding(results.all.map { $0 as! Int })
    }
    try await workflow.run()
    #expect(sum.result == [0, 1, 2, 3, 4])
  }

  @Test("A subworkflow that is given no name has that of its workflow, unless another task has it")
  func addSubworkflow_withoutName_hasThatOfTheWorkflow() {
    let workflow = Workflow("outer")
    let names = ["Site", "Site", nil, "task 2"].map { workflow.addSubworkflow(nil, Workflow($0)).name }
    #expect(names == ["Site", "task 2", "task 3", "task 4"])
    #expect(workflow.tasks.map(\.name) == names && workflow.task(named: "Site") == workflow.tasks[0])
  }

  @Test("A closure that throws fails its task; CancellationError cancels it")
  func closure_throwing_endsItsTask() async {
    let workflow = Workflow()
    let made = workflow.add { () throws -> SimpleOperation<Int> in throw TestError.first }
    let work = workflow.add { () async throws -> Int in throw TestError.second }
    let cancelled = workflow.add { () throws -> SimpleOperation<Int> in throw CancellationError() }
    let cancelledWork = workflow.add { () async throws -> Int in throw CancellationError() }
    #expect(await workflow.outcomeOfRun().word == "failure")
    #expect(made.error as? TestError == .first && work.error as? TestError == .second)
    #expect(cancelled.state == .cancelled && cancelledWork.state == .cancelled)
    #expect(workflow.error?.failures.map(\.task) == [made, work])
  }

  @Test("A closure that gives the same operation again fails the second attempt, and says so")
  func operation_givenAgain_failsTheAttempt() async throws {
    let workflow = Workflow()
    let operation = succeeding(1)
    let task = workflow.add("once") { operation }
    let queued = workflow.add("queued", operationQueue: OperationQueue(limit: 1)) { succeeding(2) }
    try await workflow.run()
    workflow.reset()
    #expect(await workflow.outcomeOfRun().word == "failure")
    let error = try #require(task.error as? WorkflowAttemptError)
    #expect(error.code == .operationAlreadyFinished && error.taskName == "once" && error.attempt == 2)
    #expect("\(error)".contains("Attempt 2 of the task “once”") && "\(error)".contains("make a new one"))
    #expect(queued.result == 2)
  }

  @Test("An operation with an unfinished dependency waits for it; the task executes meanwhile")
  func operation_withDependency_waits() async {
    let workflow = Workflow()
    let dependency = SimpleOperation<Int> { $0.finish(with: 1) }
    let made = Gate()
    let task = workflow.add("task") {
      let operation = succeeding(2)
      operation.addDependency(dependency)
      made.open()
      return operation
    }
    workflow.start()
    await made.wait()
    #expect(task.state == .executing)
    await onWorker { dependency.start() }
    await workflow.untilIdle()
    #expect(task.result == 2)
  }

  @Test("Added while the workflow runs, a task runs")
  func add_whileRunning_runs() async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    workflow.start()
    let root = workflow.add("root") { succeeding(1) }
    let after = workflow.add("after", after: held.task, root) { first, second in succeeding(first + second) }
    await held.attempt(1).finish(with: 5)
    await workflow.untilIdle()
    #expect(after.result == 6)
    #expect(workflow.outcome?.word == "success")
    let late = workflow.add("late", after: after) { succeeding($0) }
    #expect(workflow.outcome == nil && late.state == .ready)
    try await workflow.run()
    #expect(late.result == 6)
  }

  @Test("Added from a hook and from the body of a task, it runs")
  func add_fromInside_runs() async throws {
    let workflow = Workflow()
    let seen = EventRecorder<String>()
    let first = workflow.add("first") { [weak workflow] in
      _ = workflow?.add("from the body") {
        SimpleOperation<Void> {
          seen.record("body"); $0.finish()
        }
      }
      return succeeding(1)
    }
    first.didFinish = { task, _ in
      _ = task.workflow.add("from the hook", after: task) { _ in
        SimpleOperation<Void> {
          seen.record("hook"); $0.finish()
        }
      }
    }
    try await workflow.run()
    #expect(seen.events.sorted() == ["body", "hook"])
    #expect(workflow.tasks.count == 3)
  }
}
