import CompositeOperations
public import Foundation

/// What a failed workflow failed with: every failure, and every task that it keeps from running.
///
/// It prints one line for each. It keeps the workflow alive.
public struct WorkflowError: Error, Sendable {
  /// A task that failed.
  public struct Failure: Sendable {
    /// The task.
    public let task: AnyWorkflowTask
    /// What its last attempt failed with.
    public let error: any Error
  }

  /// A task that can not run.
  public struct Blocked: Sendable {
    /// The task.
    public let task: AnyWorkflowTask
    /// The failed or cancelled task that keeps it from running: of several the one that was added first.
    public let cause: AnyWorkflowTask
  }

  /// The workflow that failed.
  public let workflow: Workflow
  let record: WorkflowFailureRecord

  /// The failures, in the order in which the tasks were added. Never empty.
  public var failures: [Failure] {
    record.failures.map { Failure(task: workflow.handle($0.task), error: $0.error) }
  }

  /// The tasks that can not run because of the failures and of cancelled tasks, in the order in which they were added.
  public var blocked: [Blocked] {
    record.blocked.map { Blocked(task: workflow.handle($0.task), cause: workflow.handle($0.cause)) }
  }
}

extension WorkflowError: ErrorWithCauses {
  package var causes: [any Error] { record.failures.map(\.error) }
}

extension WorkflowError: LocalizedError, CustomStringConvertible {
  /// How many blocked tasks are listed by name.
  private static let listed = 20

  /// A headline, a line for each failure, and a line for each blocked task, of the first twenty.
  public var description: String {
    let failures = failures
    var lines = ["The workflow “\(workflow.name)” failed: \(failures.count) of its tasks failed"]
    if !record.blocked.isEmpty { lines[0] += ", and \(record.blocked.count) can not run" }
    lines[0] += "."
    for failure in failures {
      let text = "\(failure.error)".split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n    ")
      lines.append("  “\(failure.task.name)” failed: \(text)")
    }
    for (task, cause) in record.blocked.prefix(WorkflowError.listed) {
      lines.append("  “\(workflow.handle(task).name)” is blocked by “\(workflow.handle(cause).name)”")
    }
    if record.blocked.count > WorkflowError.listed {
      lines.append("  and \(record.blocked.count - WorkflowError.listed) more are blocked")
    }
    return lines.joined(separator: "\n")
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
