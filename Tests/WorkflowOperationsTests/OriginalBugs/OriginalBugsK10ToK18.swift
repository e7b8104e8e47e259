import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// What was wrong in Task (TSKWorkflow), and is right here.
@Suite("4 Bugs K10 to K18 of the original", .timeLimit(.minutes(30)))
struct OriginalBugsK10ToK18 {
  @Test("K10 An empty workflow has nothing unfinished, and lists instead of nil")
  func k10_emptyWorkflowIsFinished() async throws {
    let workflow = Workflow()
    #expect(!workflow.hasUnfinishedTasks && workflow.tasks.isEmpty)
    try await workflow.run()
    #expect(!workflow.hasUnfinishedTasks)
  }

  @Test("K11 Everything may be read, and tasks added, from many threads while the workflow runs")
  func k11_everythingIsThreadSafe() async throws {
    let workflow = Workflow()
    let root = workflow.addHeld("root")
    let other = workflow.addHeld("other")
    workflow.start()
    let operation = await root.attempt(1)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          for step in 0..<100 {
            let task = workflow.add("\(number) \(step)", after: root.task) { succeeding($0) }
            _ = (task.state, task.result, task.error, task.prerequisites, root.task.dependents.count)
            if step == 50, number == 0 { operation.finish(with: 1) }
          }
        }
      }
    }
    await other.attempt(1).finish(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success" && workflow.tasks.count == 402)
    #expect(workflow.states.allSatisfy { $0 == .finished })
  }

  @Test("K12 A task never starts with a prerequisite that was reset in between")
  func k12_readinessIsDecidedInOneStep() async {
    for _ in 0..<100 {
      let workflow = Workflow()
      let first = workflow.add("first") { succeeding(1) }
      let second = workflow.add("second", keyed: ["first": first]) { results in
        succeeding(results["first", as: Int.self])
      }
      async let running: Void = onWorker { workflow.start() }
      async let resetting: Void = onWorker { _ = first.reset() }
      _ = await (running, resetting)
      await workflow.untilIdle()
      if first.state != .finished, second.state != .pending { Issue.record("\(workflow.debugDescription)") }
      workflow.start()
      await workflow.untilIdle()
      #expect(workflow.outcome?.word == "success")
    }
  }

  @Test("K13 A reset while the task finishes leaves no result behind, nor an unfinished task that counts as finished")
  func k13_resetAndFinishDoNotMix() async {
    for _ in 0..<100 {
      let workflow = Workflow()
      let task = workflow.add("task") {
        await Task.yield(); return 1
      }
      workflow.start()
      await onWorker { _ = task.reset() }
      await workflow.untilIdle()
      #expect((task.result != nil) == (task.state == .finished))
      #expect(workflow.hasUnfinishedTasks == (task.state != .finished))
    }
  }

  @Test("K14 Observers see transitions in order, and may use the task")
  func k14_eventsAreOrdered() async {
    let workflow = Workflow()
    let task = workflow.addScripted("task", Array(repeating: .failure(TestError.first), count: 20))
    task.didFail = { task, _ in _ = (task.state, task.retry()) }
    let stream = workflow.events(bufferingPolicy: .unbounded)
    workflow.start()
    var words: [String] = []
    for await event in stream where event.task != nil { words.append("\(event)") }
    let expected = (1...20).flatMap {
      ["task: started (attempt \($0))", "task: failed (attempt \($0))", "task: retried (attempt \($0))"]
    }
    #expect(words == expected + ["task: started (attempt 21)", "task: finished (attempt 21)"])
  }

  @Test("K15 Cancelling interrupts: the operation is cancelled, and the Task of an async closure")
  func k15_cancelReachesTheWork() async {
    let workflow = Workflow()
    let started = Gate()
    let task = workflow.add("async") {
      started.open()
      try await Gate().waitUnlessCancelled()
    }
    async let outcome = workflow.outcomeOfRun()
    await started.wait()
    task.cancel()
    #expect(await outcome.isCancelled)
  }

  @Test("K16 An async closure ends by returning; an operation that settles twice keeps the first")
  func k16_oneEnding() async throws {
    let workflow = Workflow()
    let returning = workflow.add { await Task { 3 }.value }
    let twice = workflow.add {
      SimpleOperation<Int> { operation in
        operation.finish(with: 1)
        #expect(!operation.reject(with: TestError.first))
      }
    }
    try await workflow.run()
    #expect(returning.result == 3 && twice.result == 1)
  }

  @Test("K17 The limit of a queue counts asynchronous tasks")
  func k17_limitCountsAsyncTasks() async throws {
    let workflow = Workflow("serial", operationQueue: OperationQueue(limit: 1))
    let gauge = ConcurrencyGauge()
    for _ in 0..<3 {
      _ = workflow.add {
        gauge.enter()
        await Task.yield()
        gauge.leave()
      }
    }
    try await workflow.run()
    #expect(gauge.maximum == 1 && gauge.total == 3)
  }

  @Test("K18 Results are typed, and in an order that does not change")
  func k18_resultsAreTypedAndOrdered() async throws {
    let workflow = Workflow()
    let nothing = workflow.add("nothing") { succeeding(()) }
    let none = workflow.add("none") { succeeding(Int?.none) }
    let some = workflow.add("some") { succeeding(Int?.some(3)) }
    let typed = workflow.add("typed", after: some, none, nothing) { some, none, _ in
      succeeding((some ?? 0) + (none ?? 1))
    }
    let listed = workflow.add("listed", unkeyed: [some, nothing, none]) { results in
      succeeding(results.all.map { "\($0)" })
    }
    try await workflow.run()
    #expect(typed.result == 4)
    #expect(listed.result == ["()", "nil", "Optional(3)"])
    #expect(none.result == .some(nil) && none.outcome?.word == "success")
  }
}
