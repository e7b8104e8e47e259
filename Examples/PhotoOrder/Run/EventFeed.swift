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
/// It is a delegate because an event stream ends with the run: what happens between two runs, such
/// as a reset, would not be in one. The streams are there for what belongs to one run, its summary.
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

  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
    switch event.kind {
    case .workflowStarted: started(workflow)
    case .workflowFinished: ended("every task has finished")
    case .workflowFailed: ended(text(of: event.error as? WorkflowError))
    case .workflowCancelled: ended("cancelled")
    case .workflowPaused: tell(.workflowEnded("pauses; there are tasks to start")) { $0.endedRuns += 1 }
    case .started: tell(.started, event.task)
    case .finished: tell(.finished, event.task)
    case .failed: if let error = event.error { tell(.failed(error), event.task) }
    case .cancelled: tell(.cancelled, event.task)
    case .reset: tell(.reset, event.task)
    case .retried: tell(.retried, event.task)
    case .discarded: tell(.discarded(attempt: event.attempt), event.task)
    default: break
    }
  }

  private func started(_ workflow: Workflow) {
    let isNew = state.withLock { state in
      defer { state.isSummarizing = true }
      return !state.isSummarizing
    }
    if isNew {
      // Made here the stream has everything of the run: the delegate receives an event before the
      // streams do.
      let events = workflow.events(bufferingPolicy: .unbounded)
      let summary = Task { await RunSummary(events) }
      state.withLock { $0.summaries.append(summary) }
    }
    tell(.workflowStarted) { $0.startedRuns += 1 }
  }

  private func text(of error: WorkflowError?) -> String {
    let failed = error?.failures.map(\.task.name).joined(separator: ", ") ?? ""
    let blocked = error?.blocked.map(\.task.name).joined(separator: ", ") ?? ""
    return blocked.isEmpty ? "failed: \(failed)" : "failed: \(failed); blocked by that: \(blocked)"
  }
}
