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
  /// How many workflows in workflows are described, each indented below the one that it is in.
  private static let maxDepth = 40

  /// A headline, a line for each failure, and a line for each blocked task, of the first twenty.
  ///
  /// The failures of a workflow inside of this one are indented below the line of its task. After forty levels it is only
  /// told how many there are further down, and what is at the end of them.
  public var description: String {
    // A loop over what is left to write: workflows may nest deeper than a stack goes.
    var text = headline
    var pending = lines(indentation: 2).reversed() as [Line]
    while let line = pending.popLast() {
      let indentation = String(repeating: " ", count: line.indentation)
      text += "\n\(indentation)\(line.text)"
      guard let error = line.error else { continue }
      guard let inner = error as? WorkflowError else {
        let rest = "\(error)".split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        text += rest.joined(separator: "\n\(indentation)  ")
        continue
      }
      let depth = (line.indentation + 2) / WorkflowError.step + 1
      if depth <= WorkflowError.maxDepth {
        text += inner.headline
        pending += inner.lines(indentation: line.indentation + WorkflowError.step).reversed()
      } else {
        let (count, cause) = inner.innermost
        text += "… \(count) \(count == 1 ? "level" : "levels") deeper: \(WorkflowOperations.headline(of: cause))"
      }
    }
    return text
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }

  private struct Line {
    let indentation: Int
    let text: String
    /// What comes after the text.
    var error: (any Error)?
  }

  /// How much further the lines of a workflow inside of another one are indented.
  private static let step = 4

  private var headline: String {
    var text = "The workflow “\(workflow.name)” failed: \(record.failures.count) of its tasks failed"
    if !record.blocked.isEmpty { text += ", and \(record.blocked.count) can not run" }
    return text + "."
  }

  private func lines(indentation: Int) -> [Line] {
    var lines = record.failures.map { failure in
      Line(indentation: indentation, text: "“\(workflow.handle(failure.task).name)” failed: ", error: failure.error)
    }
    for (task, cause) in record.blocked.prefix(WorkflowError.listed) {
      let text = "“\(workflow.handle(task).name)” is blocked by “\(workflow.handle(cause).name)”"
      lines.append(Line(indentation: indentation, text: text))
    }
    let rest = record.blocked.count - WorkflowError.listed
    if rest > 0 { lines.append(Line(indentation: indentation, text: "and \(rest) more are blocked")) }
    return lines
  }

  /// How many levels of workflows there are, this one included, and what the first task of the innermost failed with.
  private var innermost: (count: Int, cause: any Error) {
    var count = 1
    var cause = record.failures[0].error
    while let inner = cause as? WorkflowError {
      cause = inner.record.failures[0].error
      count += 1
    }
    return (count, cause)
  }
}
