import WorkflowOperations

/// What happened in one run of a workflow, counted from its event stream.
struct RunSummary: Equatable, Sendable {
  private(set) var attempts = 0
  private(set) var finished = 0
  private(set) var failed = 0
  private(set) var cancelled = 0
  private(set) var end = "paused"

  /// Reads the stream to its end, which is that of the run.
  init(_ events: AsyncStream<WorkflowEvent>) async {
    for await event in events { count(event.kind) }
  }

  private mutating func count(_ kind: WorkflowEvent.Kind) {
    switch kind {
    case .started: attempts += 1
    case .finished: finished += 1
    case .failed: failed += 1
    case .cancelled: cancelled += 1
    case .workflowFinished: end = "finished"
    case .workflowFailed: end = "failed"
    case .workflowCancelled: end = "cancelled"
    default: break
    }
  }

  var text: String {
    "\(end): \(attempts) \(attempts == 1 ? "attempt" : "attempts"),"
      + " \(finished) finished, \(failed) failed, \(cancelled) cancelled"
  }
}
