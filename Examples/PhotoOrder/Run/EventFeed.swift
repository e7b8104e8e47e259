import CompositeOperations
import ExampleSupport
import Foundation
import WorkflowOperations

/// Something that happened in the workflow.
struct Notice: Sendable {
  enum Kind: Sendable {
    case workflowStarted
    /// The run ended, or pauses, as the text tells.
    case workflowEnded(String)
    case started, finished, cancelled, reset, retried
    case failed(any Error)
    case discarded(attempt: Int)
  }

  let kind: Kind
  /// The place of the task; nil for the workflow itself.
  let task: Int?
}

/// Passes on everything that happens in a workflow, in order, across all of its runs.
///
/// It is a delegate because an event stream ends with the run: what happens between two runs, such as a reset, would not
/// be in one. The streams are there for what belongs to one run, its summary.
final class EventFeed: WorkflowDelegate {
  private struct State {
    var count = 0
    var startedRuns = 0
    var endedRuns = 0
    var isSummarizing = false
    var summaries: [Task<RunSummary, Never>] = []
  }

  private let state = Shared(State())
  private let places: [String: Int]
  private let pass: @Sendable (Notice) -> Void

  init(_ workflow: Workflow, pass: @escaping @Sendable (Notice) -> Void) {
    places = Dictionary(uniqueKeysWithValues: workflow.tasks.enumerated().map { ($1.name, $0) })
    self.pass = pass
  }

  /// How much was passed on.
  var count: Int { state.withLock(\.count) }

  /// Whether the end of every run was passed on.
  var isBetweenRuns: Bool { state.withLock { $0.startedRuns == $0.endedRuns } }

  /// What happened in each run, the first one first. Only to be asked for when no run is under way.
  func summaries() async -> [RunSummary] {
    let tasks = state.withLock { state in
      // The stream of a run that pauses is open still.
      if state.isSummarizing { state.summaries.last?.cancel() }
      return state.summaries
    }
    var summaries: [RunSummary] = []
    for task in tasks { summaries.append(await task.value) }
    return summaries
  }

  private func tell(_ kind: Notice.Kind, _ task: AnyWorkflowTask? = nil, change: (inout State) -> Void = { _ in }) {
    state.withLock { state in
      state.count += 1
      change(&state)
    }
    pass(Notice(kind: kind, task: task.flatMap { places[$0.name] }))
  }

  private func ended(_ text: String) {
    tell(.workflowEnded(text)) { state in
      state.endedRuns += 1
      state.isSummarizing = false
    }
  }

  // MARK: - WorkflowDelegate

  func workflowDidStart(_ workflow: Workflow) {
    let isNew = state.withLock { state in
      defer { state.isSummarizing = true }
      return !state.isSummarizing
    }
    if isNew {
      // Made here the stream has everything of the run: the delegate is told before the streams are.
      let events = workflow.events(bufferingPolicy: .unbounded)
      let summary = Task { await RunSummary(events) }
      state.withLock { $0.summaries.append(summary) }
    }
    tell(.workflowStarted) { $0.startedRuns += 1 }
  }

  func workflowDidFinish(_ workflow: Workflow) { ended("every task has finished") }

  func workflow(_ workflow: Workflow, didFailWith error: WorkflowError) {
    let failed = error.failures.map(\.task.name).joined(separator: ", ")
    ended(
      error.blocked.isEmpty
        ? "failed: \(failed)"
        : "failed: \(failed); blocked by that: \(error.blocked.map(\.task.name).joined(separator: ", "))")
  }

  func workflowDidCancel(_ workflow: Workflow) { ended("cancelled") }

  func workflowDidPause(_ workflow: Workflow) {
    tell(.workflowEnded("pauses; there are tasks to start")) { $0.endedRuns += 1 }
  }

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) { tell(.started, task) }

  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { tell(.finished, task) }

  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    tell(.failed(error), task)
  }

  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { tell(.cancelled, task) }

  func workflow(_ workflow: Workflow, taskDidReset task: AnyWorkflowTask) { tell(.reset, task) }

  func workflow(_ workflow: Workflow, taskDidRetry task: AnyWorkflowTask) { tell(.retried, task) }

  func workflow(
    _ workflow: Workflow, task: AnyWorkflowTask, didDiscardAttempt attempt: Int, outcome: Outcome<any Sendable>
  ) {
    tell(.discarded(attempt: attempt), task)
  }
}
