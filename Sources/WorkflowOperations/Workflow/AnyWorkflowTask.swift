public import CompositeOperations
public import Foundation

/// A handle of one task of a workflow, to watch, start, cancel, retry and reset it.
///
/// A task is a unit of work that can run more than once. Each time is an *attempt*, with an
/// operation of its own. Handles are cheap, and equal if they stand for the same task. A handle
/// keeps its workflow alive; a workflow does not keep its handles. A closure that the workflow
/// stores and that captures a handle makes a reference cycle: use the values and tasks that
/// closures receive.
///
/// All members may be used on any thread at any moment, also in hooks, delegates, and the bodies of
/// tasks.
public class AnyWorkflowTask: @unchecked Sendable {  // only constants, in subclasses too
  /// The workflow that the task belongs to.
  public final let workflow: Workflow
  /// The place among the tasks of the workflow.
  final let index: Int

  required init(workflow: Workflow, index: Int) {
    self.workflow = workflow
    self.index = index
  }

  /// Reads the task's node under the lock.
  final func read<R>(_ body: (TaskNode) -> R) -> R {
    workflow.storage.withLock { body($0.state.nodes[index]) }
  }

  final var plan: AnyTaskPlan { read(\.plan) }

  // MARK: - State

  /// The name that was given when the task was added, or `task 3` for the third task of the
  /// workflow.
  public final var name: String { read { $0.plan.name(at: index) } }

  /// The state of the task.
  public final var state: State { read(\.state) }

  /// The number of the latest attempt; 0 before the first. ``reset()`` and ``retry()`` do not
  /// restart the numbers.
  public final var attempt: Int { read(\.attempt) }

  /// How the task ended: with its result, its error, or cancelled; nil in all other states.
  public final var anyOutcome: Outcome<any Sendable>? { read(\.outcome) }

  /// The error of a failed task, otherwise nil.
  public final var error: (any Error)? { read(\.error) }

  /// When the latest attempt started; nil before the first, and after ``reset()`` and ``retry()``.
  public final var startDate: Date? { read(\.startDate) }

  /// When the task finished or failed, otherwise nil.
  public final var finishDate: Date? { read(\.finishDate) }

  // MARK: - What depends on the value type

  /// Calls the hook for a finished task.
  func callFinishHook(_ hook: any Sendable, value: any Sendable) {}

  /// The value type.
  class var valueType: Any.Type { Any.self }

  /// A value from a snapshot.
  class func decode(_ text: String) throws -> any Sendable {
    preconditionFailure("abstract")
  }

  // MARK: - Description

  /// The kind of task, its name, state, attempt, and the first line of its error.
  public final var description: String {
    let node = read { $0 }
    var text = "<\(type(of: self)) “\(node.plan.name(at: index))”: \(node.state)"
    if node.attempt > 0 { text += ", attempt \(node.attempt)" }
    if let error = node.error { text += ", \(headline(of: error))" }
    return text + ">"
  }

  /// The same as `description`, with the names of the prerequisites.
  public final var debugDescription: String {
    let names = prerequisites.map { "“\($0.name)”" }
    return names.isEmpty ? description : "\(description.dropLast()), after \(names.joined(separator: ", "))>"
  }
}

extension AnyWorkflowTask: CustomStringConvertible, CustomDebugStringConvertible {}

extension AnyWorkflowTask: Hashable {
  /// Whether both stand for the same task.
  public static func == (left: AnyWorkflowTask, right: AnyWorkflowTask) -> Bool {
    left.workflow === right.workflow && left.index == right.index
  }

  /// Hashes what makes the task different from others.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(workflow))
    hasher.combine(index)
  }
}
