import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Workflows in composites, composites in workflows, workflows in workflows.
@Suite("4 Nesting", .timeLimit(.minutes(30)))
struct NestingTests {
  private func leaf(_ gauge: ConcurrencyGauge) -> SimpleOperation<Int> {
    AsyncOperation {
      gauge.enter()
      await Task.yield()
      gauge.leave()
      return 1
    }
  }

  /// A workflow of leaves and of composites that have workflows in them, and so on.
  private func workflow(levels: Int, queue: OperationQueue?, _ gauge: ConcurrencyGauge) -> Workflow {
    let workflow = Workflow("level \(levels)", operationQueue: levels % 2 == 0 ? queue : nil)
    let first = workflow.add("leaf") { leaf(gauge) }
    guard levels > 1 else { return workflow }
    _ = workflow.add("composite", after: first) { _ in composite(levels: levels - 1, queue: queue, gauge) }
    _ = workflow.addSubworkflow("subworkflow", self.workflow(levels: levels - 1, queue: queue, gauge), after: first)
    return workflow
  }

  private func composite(levels: Int, queue: OperationQueue?, _ gauge: ConcurrencyGauge) -> CompositeOperation {
    CompositeOperation(
      operations: [
        leaf(gauge), workflow(levels: levels, queue: queue, gauge).makeOperation(), leaf(gauge).map { $0 + 1 },
      ], operationQueue: levels % 2 == 1 ? queue : nil)
  }

  @Test("Five levels deep, both ways, without a queue")
  func levels_withoutQueue_finish() async throws {
    let gauge = ConcurrencyGauge()
    try await workflow(levels: 5, queue: nil, gauge).run()
    let inner = gauge.total
    try await composite(levels: 5, queue: nil, gauge).run()
    #expect(inner > 50 && gauge.total == inner + inner + 2)
  }

  @Test(
    "Five levels deep, both ways, in one queue at any limit, root in the queue or not", arguments: 1...3, [false, true])
  func levels_inOneQueue_keepItsLimit(limit: Int, inQueue: Bool) async throws {
    let gauge = ConcurrencyGauge()
    let queue = OperationQueue(limit: limit)
    let roots: [any ComposableOperation] = [
      CompositeOperation(operations: [workflow(levels: 5, queue: queue, gauge).makeOperation()], operationQueue: queue),
      composite(levels: 5, queue: queue, gauge),
    ]
    for root in roots {
      if inQueue { try await queue.run(root) } else { try await root.run() }
    }
    #expect(gauge.maximum <= limit)
  }

  @Test("Cancelling the outermost composite cancels the innermost leaf")
  func cancel_outermost_reachesLeaf() async {
    let innermost = Workflow("innermost")
    let held = innermost.addHeld("held")
    var operation: any ComposableOperation = innermost.makeOperation()
    for level in 0..<5 {
      let workflow = Workflow("\(level)")
      let inner = Locked<(any ComposableOperation)?>(operation)
      _ = workflow.add("inner") { CompositeOperation(operations: [inner.withLock { $0.take()! }]) }
      operation = workflow.makeOperation()
    }
    let outermost = operation
    await onWorker { outermost.start() }
    let leaf = await held.attempt(1)
    outermost.cancel()
    await leaf.cancelRequested.wait()
    #expect(innermost.states == [.cancelled])
    leaf.finish(with: 1)
    await finished(outermost)
    #expect(outermost.isCancelled && innermost.outcome?.word == "cancelled")
  }

  @Test("The failure of the innermost leaf reaches the outermost workflow, each level in its error")
  func failure_innermost_reachesOutermost() async throws {
    var workflow = Workflow("0")
    workflow.addScripted("bad", [.failure(TestError.first)])
    for level in 1...5 {
      let outer = Workflow("\(level)")
      _ = outer.addSubworkflow("inner", workflow)
      workflow = outer
    }
    var error = await workflow.outcomeOfRun().error
    for _ in 0...5 {
      error = try #require((error as? WorkflowError)?.failures.first?.error)
    }
    #expect(error as? TestError == .first)
    workflow.retry()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
  }

  @Test("A workflow is a child among others: in a sequence, and in typed composition")
  func makeOperation_inSequences_runs() async throws {
    let workflow = Workflow()
    let task = workflow.add("task") { succeeding(20) }
    let doubled = workflow.makeOperation().map { _ in task.result! * 2 }
    #expect(try await doubled.run() == 40)
    let sequence = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 2) { _ in
        workflow.retry()
        return workflow.makeOperation()
      })
    #expect(try await sequence.run().count == 1)
  }
}
