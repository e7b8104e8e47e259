import CompositeOperations
import Foundation
import TestSupport

@testable import WorkflowOperations

extension Workflow {
  /// Adds a task that does nothing, after others.
  @discardableResult
  func addEmpty(_ name: String? = nil, after prerequisites: AnyWorkflowTask...) -> WorkflowTask<Void> {
    add(name, unkeyed: prerequisites) { _ in SimpleOperation<Void> { $0.finish() } }
  }

  /// Adds a task that executes until the test settles its operation, after others.
  func addHeld(_ name: String? = nil, after prerequisites: AnyWorkflowTask..., operationQueue: OperationQueue? = nil)
    -> HeldTask
  {
    let operations = HeldOperations()
    let task = add(name, unkeyed: prerequisites, operationQueue: operationQueue) { _ in operations.make() }
    return HeldTask(task: task, operations: operations)
  }

  /// Adds a task whose attempts fail and succeed as the list says; after the end of the list they
  /// succeed.
  @discardableResult
  func addScripted(
    _ name: String? = nil, _ outcomes: [Outcome<Int>], after prerequisites: AnyWorkflowTask...
  ) -> WorkflowTask<Int> {
    let count = Locked(0)
    return add(name, unkeyed: prerequisites) { _ in
      let attempt = count.increment()
      return SimpleOperation<Int> {
        $0.settle(with: attempt <= outcomes.count ? outcomes[attempt - 1] : .success(attempt))
      }
    }
  }

  /// Puts the workflow into others, one around the other. Returns the outermost one.
  ///
  /// - Parameter seeing: gets each task that a workflow is, and at what level; the innermost is 0.
  func nested(_ levels: Int, seeing task: (WorkflowTask<Workflow>, _ level: Int) -> Void = { _, _ in }) -> Workflow {
    (0..<levels).reduce(self) { inner, level in
      let outer = Workflow("level \(level)")
      task(outer.addSubworkflow(nil, inner), level)
      return outer
    }
  }

  /// The tasks without prerequisites.
  var roots: [AnyWorkflowTask] { tasks.filter(\.prerequisites.isEmpty) }

  /// The tasks that no other task depends on.
  var leaves: [AnyWorkflowTask] { tasks.filter(\.dependents.isEmpty) }

  /// Whether any task has failed.
  var hasFailedTasks: Bool { states.contains(.failed) }

  /// The states of the tasks, in task order.
  var states: [AnyWorkflowTask.State] { tasks.map(\.state) }

  /// Runs the workflow and tells how that ended.
  func outcomeOfRun() async -> Outcome<Void> {
    do {
      try await run()
      return .success(())
    } catch is CancellationError {
      return .cancelled
    } catch {
      return .failure(error)
    }
  }

  /// Waits until no run is under way.
  func untilIdle() async {
    await until(!isRunning)
  }
}

/// A task and the operations of its attempts, which the test settles.
struct HeldTask: Sendable {
  let task: WorkflowTask<Int>
  let operations: HeldOperations

  /// The operation of the attempt with this number, once it has started.
  func attempt(_ number: Int) async -> HeldOperation<Int> {
    let operation = await operations.operation(number)
    await operation.started.wait()
    return operation
  }
}

/// The operations that were made for one task.
final class HeldOperations: Sendable {
  private let made = Locked<[HeldOperation<Int>]>([])
  private let numbers = EventRecorder<Int>()

  func make() -> HeldOperation<Int> {
    let operation = HeldOperation<Int>()
    numbers.record(
      made.withLock { made in
        made.append(operation)
        return made.count
      })
    return operation
  }

  var count: Int { numbers.count }

  func operation(_ number: Int) async -> HeldOperation<Int> {
    await numbers.wait(for: number)
    return made.withLock { $0[number - 1] }
  }
}

extension Outcome {
  /// The ending in one word.
  var word: String {
    switch self {
    case .success: "success"
    case .failure: "failure"
    case .cancelled: "cancelled"
    }
  }
}

/// The events of a workflow as words, recorded by a delegate.
final class RecordingDelegate: WorkflowDelegate {
  let events = EventRecorder<String>()

  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
    guard let task = event.task else { return events.record("\(event)") }
    events.record("\(task.name) \(event.kind)\(event.kind == .discarded ? " \(event.attempt)" : "")")
  }
}

/// Calls a closure with each event.
final class EventDelegate: WorkflowDelegate {
  private let body: @Sendable (WorkflowEvent) -> Void

  init(_ body: @escaping @Sendable (WorkflowEvent) -> Void) { self.body = body }

  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) { body(event) }
}
