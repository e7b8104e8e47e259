import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Who keeps whom.
@Suite("4 Lifetime", .timeLimit(.minutes(30)))
struct LifetimeTests {
  @Test("Dropping the last reference to a running workflow does not stop it; it goes when the run has ended")
  func drop_whileRunning_goesOn() async {
    let seen = Gate()
    let probe = Gate()
    let held = HeldOperations()
    do {
      let workflow = Workflow()
      let canary = ReleaseProbe(probe)
      let first = workflow.add("first") { held.make() }
      _ = workflow.add("second", after: first) { value in
        SimpleOperation<Int> { operation in
          canary.touch()
          seen.open()
          operation.finish(with: value)
        }
      }
      workflow.start()
    }
    let operation = await held.operation(1)
    await operation.started.wait()
    #expect(!probe.isOpen)
    operation.finish(with: 1)
    await seen.wait()
    await probe.wait()
  }

  @Test("A handle keeps its workflow; without one, a workflow that does not run goes, with its closures")
  func handle_keepsWorkflow() async throws {
    let released = Gate()
    var task: WorkflowTask<Int>?
    do {
      let workflow = Workflow()
      let canary = ReleaseProbe(released)
      task = workflow.add("task") {
        canary.touch()
        return succeeding(1)
      }
      try await workflow.run()
    }
    #expect(!released.isOpen && task?.result == 1 && task?.workflow.tasks.count == 1)
    task = nil
    await released.wait()
  }

  @Test("A failed workflow, its error, its hooks and its operations make no cycle")
  func failedWorkflow_isReleased() async {
    let released = Gate()
    do {
      let workflow = Workflow()
      let canary = ReleaseProbe(released)
      let task = workflow.addScripted("bad", [.failure(TestError.first)])
      task.didFail = { _, _ in canary.touch() }
      workflow.addSubworkflowThatFails(canary)
      _ = await workflow.outcomeOfRun()
      #expect(workflow.error != nil)
    }
    await released.wait()
  }

  @Test("The operations of attempts are released when they have settled")
  func operations_areReleased() async throws {
    let workflow = Workflow()
    let operations = Locked<[WeakReference<Operation>]>([])
    for _ in 0..<5 {
      _ = workflow.add {
        let operation = succeeding(1)
        operations.withLock { $0.append(WeakReference(operation)) }
        return operation
      }
    }
    try await workflow.run()
    for reference in operations.current { await untilReleased(reference) }
  }

  @Test("The delegate is not kept")
  func delegate_isWeak() {
    let workflow = Workflow()
    var delegate: RecordingDelegate? = RecordingDelegate()
    workflow.delegate = delegate
    #expect(workflow.delegate === delegate)
    delegate = nil
    #expect(workflow.delegate == nil)
  }

  @Test("A delegate that is dropped while observers come and go is not released under the workflow's lock")
  func delegate_droppedMeanwhile_mayUseTheWorkflow() async {
    final class Leaving: WorkflowDelegate {
      let workflow: Workflow
      init(_ workflow: Workflow) { self.workflow = workflow }
      deinit { _ = workflow.isRunning }
      func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {}
    }
    let workflow = Workflow()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for _ in 0..<20_000 { workflow.delegate = Leaving(workflow) } }
      group.addTask { for _ in 0..<20_000 { _ = workflow.events() } }
    }
    #expect(workflow.delegate == nil)
  }
}

extension Workflow {
  fileprivate func addSubworkflowThatFails(_ canary: ReleaseProbe) {
    let inner = Workflow("inner")
    _ = inner.add("bad") { () throws -> SimpleOperation<Int> in
      canary.touch()
      throw TestError.second
    }
    _ = addSubworkflow("inner", inner)
  }
}
