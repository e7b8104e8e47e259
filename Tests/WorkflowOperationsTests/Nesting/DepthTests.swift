import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing
import WorkflowOperations

/// A hundred thousand workflows, each in the next, on a stack of 512 KiB.
@Suite("4 Workflows nested deep in workflows", .serialized, .timeLimit(.minutes(30)))
struct DepthTests {
  private static let depth = Scale.count(100_000, least: 2_000)

  enum Walk: CaseIterable, Sendable {
    case succeed, fail, cancelOperation, cancelWorkflow, cancelBeforeStart, resetWhileRunning, resetAfterwards, retry
    case suspend, neverStarted, errorText, drawing, snapshot, delegates
  }

  @Test(arguments: Walk.allCases)
  func deepNesting_onSmallStack_endsAndIsReleased(walk: Walk) async {
    let released = Gate()
    let depth = DepthTests.depth
    await onThread(stackSize: 512 * 1024) {
      let nest = Nest(depth: depth, probe: ReleaseProbe(released), hasDelegates: walk == .delegates)
      nest.take(walk)
      nest.release()
    }
    await released.wait()
  }

  @Test("Cancelling takes no more stack, either, where each task returns a composite around the next workflow")
  func deepNesting_throughComposites_isCancelledOnASmallStack() async {
    await onThread(stackSize: 512 * 1024) {
      let leaf = HeldOperation<Int>()
      let innermost = Workflow("0")
      innermost.add("leaf") { leaf }
      var workflow = innermost
      for level in 1...2_000 {
        let outer = Workflow("\(level)")
        let inner = workflow
        outer.add("inside") { CompositeOperation(operations: [inner.makeOperation()]) }
        workflow = outer
      }
      let operation = workflow.makeOperation()
      operation.start()
      leaf.started.waitBlocking()
      workflow.cancel()
      #expect(leaf.isCancelled && innermost.tasks[0].state == .cancelled)
      leaf.finish(with: 7)
      operation.waitUntilFinished()
      #expect(operation.isCancelled && workflow.tasks[0].state == .cancelled)
    }
  }
}

/// The workflows, of which only the outermost is held, and the operations of the innermost task.
private final class Nest: @unchecked Sendable {  // used by one thread
  private var outermost: Workflow?
  private let leaves = (0..<3).map { _ in HeldOperation<Int>() }
  private let attempts = Locked(0)
  private let depth: Int
  private let events = Locked(0)
  /// That of every workflow, if they have one. What it cancels is cancelled already.
  private let delegate: EventDelegate

  init(depth: Int, probe: ReleaseProbe, hasDelegates: Bool = false) {
    self.depth = depth
    let innermost = Workflow("0")
    let (leaves, attempts, events) = (leaves, attempts, events)
    let cancelled = Workflow("cancelled")
    cancelled.addSubworkflow("inside", Workflow("empty"))
    cancelled.cancel()
    let delegate = EventDelegate { _ in
      events.increment()
      cancelled.cancel()
    }
    self.delegate = delegate
    if hasDelegates { innermost.delegate = delegate }
    innermost.add("leaf") {
      probe.touch()
      return leaves[attempts.increment() - 1]
    }
    var workflow = innermost
    for level in 1...depth {
      let outer = Workflow("\(level)")
      outer.addSubworkflow("inside", workflow)
      if hasDelegates { outer.delegate = delegate }
      workflow = outer
    }
    outermost = workflow
  }

  private var workflow: Workflow { outermost! }

  /// Begins a run, and waits until the innermost task executes.
  private func start(attempt: Int = 1) -> SimpleOperation<Workflow> {
    let operation = workflow.makeOperation()
    operation.start()
    leaves[attempt - 1].started.waitBlocking()
    return operation
  }

  private func run() {
    let operation = workflow.makeOperation()
    operation.start()
    operation.waitUntilFinished()
  }

  private func fail() {
    let operation = start()
    leaves[0].reject(with: TestError.first)
    operation.waitUntilFinished()
    #expect(workflow.tasks[0].state == .failed)
  }

  private func succeed() {
    let operation = start()
    leaves[0].finish(with: 7)
    operation.waitUntilFinished()
    #expect(workflow.outcome?.word == "success")
  }

  func take(_ walk: DepthTests.Walk) {
    switch walk {
    case .neverStarted:
      break
    case .succeed:
      succeed()
    case .fail:
      fail()
      #expect(workflow.error?.failures.count == 1)
    case .cancelBeforeStart:
      let operation = workflow.makeOperation()
      operation.cancel()
      operation.start()
      operation.waitUntilFinished()
      workflow.cancel()
      #expect(workflow.tasks[0].state == .cancelled)
    case .cancelOperation, .cancelWorkflow, .resetWhileRunning:
      let operation = start()
      switch walk {
      case .cancelOperation: operation.cancel()
      case .cancelWorkflow: workflow.cancel()
      default: workflow.reset()
      }
      #expect(leaves[0].isCancelled)
      leaves[0].finish(with: 7)
      operation.waitUntilFinished()
      #expect(workflow.tasks[0].state == (walk == .resetWhileRunning ? .ready : .cancelled))
    case .resetAfterwards:
      succeed()
      workflow.reset()
      let operation = start(attempt: 2)
      leaves[1].finish(with: 8)
      operation.waitUntilFinished()
      #expect(workflow.outcome?.word == "success")
    case .retry:
      fail()
      workflow.retry()
      let operation = start(attempt: 2)
      leaves[1].finish(with: 8)
      operation.waitUntilFinished()
      #expect(workflow.outcome?.word == "success")
    case .suspend:
      let operation = start()
      workflow.isSuspended = true
      #expect(workflow.isSuspended)
      workflow.isSuspended = false
      leaves[0].finish(with: 7)
      operation.waitUntilFinished()
      #expect(workflow.outcome?.word == "success")
    case .errorText:
      fail()
      let text = "\(workflow.error!)"
      #expect(text.count < 100_000)
      #expect(text.contains("… \(depth + 1 - 40) levels further in"))
      #expect(workflow.debugDescription.count < 10_000)
    case .drawing:
      #expect(workflow.mermaid().count < 100_000)
      #expect(workflow.dot().count < 100_000)
    case .snapshot:
      takeSnapshot()
    case .delegates:
      succeed()
      #expect(events.current == 4 * (depth + 1))
    }
  }

  /// Into a file, out of it, and into other workflows of the same making.
  private func takeSnapshot() {
    succeed()
    do {
      let file = try JSONEncoder().encode(try workflow.snapshot())
      let snapshot = try JSONDecoder().decode(WorkflowSnapshot.self, from: file)
      let other = Nest(depth: depth, probe: ReleaseProbe(Gate()))
      #expect(try other.workflow.restore(snapshot) == [])
      other.run()
      #expect(other.workflow.outcome?.word == "success" && other.attempts.current == 0)
      other.release()
    } catch {
      Issue.record(error)
    }
  }

  /// Releases the workflows, on this thread: the one that ran the last of it may hold them for a
  /// moment.
  func release() {
    while !isKnownUniquelyReferenced(&outermost) { DispatchQueue.global().sync {} }
    outermost = nil
  }
}
