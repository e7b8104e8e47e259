import CompositeOperations
public import Foundation

/// Why a run failed: every failure, and every task that could not run because of one.
///
/// It prints one line for each, and keeps the workflow alive.
public struct WorkflowError: Error, Sendable {
  /// A task that failed.
  public struct Failure: Sendable {
    /// The task.
    public let task: AnyWorkflowTask
    /// The error of its last attempt.
    public let error: any Error
  }

  /// A task that cannot run.
  public struct Blocked: Sendable {
    /// The task.
    public let task: AnyWorkflowTask
    /// The failed or cancelled task that keeps it from running; if there are several, the one that
    /// was added first.
    public let cause: AnyWorkflowTask
  }

  /// The workflow that failed.
  public let workflow: Workflow
  let record: WorkflowFailureRecord

  /// The failures, in the order in which the tasks were added. Never empty.
  public var failures: [Failure] {
    record.failures.map { Failure(task: workflow.handle($0.task), error: $0.error) }
  }

  /// The tasks that cannot run because of the failures and of cancelled tasks, in the order in
  /// which they were added.
  public var blocked: [Blocked] {
    record.blocked.map { Blocked(task: workflow.handle($0.task), cause: workflow.handle($0.cause)) }
  }
}

extension WorkflowSettlement {
  /// The outcome of a run of the workflow.
  func outcome(of workflow: Workflow) -> Outcome<Workflow> {
    switch self {
    case .finished: .success(workflow)
    case .failed(let record): .failure(WorkflowError(workflow: workflow, record: record))
    case .cancelled: .cancelled
    }
  }
}

extension WorkflowError: ErrorWithCauses {
  package var causes: [any Error] { record.failures.map(\.error) }
}

extension WorkflowError: ErrorWithReport {
  /// How many blocked tasks are listed by name.
  private static let listed = 20

  package var report: ErrorReport {
    var items = record.failures.map { failure in
      ErrorReport.Item("\(quotedName(failure.task)) failed: ", cause: failure.error)
    }
    for (task, cause) in record.blocked.prefix(WorkflowError.listed) {
      items.append(
        ErrorReport.Item("\(quotedName(task)) is blocked by \(quotedName(cause))"))
    }
    let rest = record.blocked.count - WorkflowError.listed
    if rest > 0 { items.append(ErrorReport.Item("and \(rest) more are blocked")) }
    return ErrorReport(headline: headline, items: items)
  }

  private func quotedName(_ task: Int) -> String { ErrorReport.quoted(workflow.handle(task).name) }

  private var headline: String {
    var text = "The workflow \(ErrorReport.quoted(workflow.name)) failed: \(record.failures.count) of its tasks failed"
    if !record.blocked.isEmpty { text += ", and \(record.blocked.count) cannot run" }
    return text + "."
  }
}

extension WorkflowError: LocalizedError, CustomStringConvertible {
  /// A headline, a line for each failure, and a line for each blocked task, of the first twenty.
  ///
  /// The failures of a subworkflow or a composite are indented below the line of their task. The
  /// text has at most about 16 KB and 40 levels; it says if it leaves anything out.
  public var description: String { ErrorReport.text(of: self) }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
