public import CompositeOperations

extension Workflow {
  /// Reports to a sink what happens from now on, in this run and all later ones.
  ///
  /// Each run is reported as one thing, with the name of the workflow, from `started` to its end:
  /// `succeeded`, `failed` with a ``WorkflowError``, `cancelled`, or `workflowPaused` if tasks are
  /// left that were not started. In between come its tasks, each from the `started` of an attempt
  /// to `succeeded`, `failed` or `cancelled`, with the number of the workflow as the event's
  /// `parentID`. `retrying` says that a task, or the whole, will run again; all other kinds are
  /// those of ``WorkflowEvent/Kind``. If a new run begins before the attempts of a cancelled one
  /// have settled, the cancelled one is reported as `cancelled` first.
  ///
  /// A failed task is a `warning`: the workflow decides what it means. A failed run is an `error`.
  ///
  /// The sink is called with one event at a time, in the order in which things happened, under no
  /// lock: on the thread that made it happen or, if another thread is just telling something, on
  /// that one. A workflow without a sink pays nothing.
  ///
  /// - Parameter sink: the sink. Released with the workflow, and when it was removed.
  /// - Returns: a token to remove the sink with, which need not be kept.
  @discardableResult
  public func report(to sink: some TelemetrySink) -> ObservationToken {
    let reporter = WorkflowReporter(sink: sink, workflow: name)
    let feed = EventFeed<WorkflowEvent>(tap: { reporter.report($0) })
    let number = storage.withLock { storage in
      defer { storage.noteObservers() }
      return storage.streams.add(feed, after: storage.newestEvent)
    }
    return ObservationToken { [weak self, weak feed] in
      feed?.close()
      self?.removeStream(number)
    }
  }
}

/// Makes events for a sink of those of a workflow.
private struct WorkflowReporter: Sendable {
  let sink: any TelemetrySink
  let workflow: String
  let id = TelemetryEvent.nextID()
  /// The numbers of the tasks, by their places.
  let taskIDs = LockBox<[Int: Int64]>([:])
  /// What executes, by its number.
  let executions = OpenExecutions<Int64>()

  /// Called for one event after the other.
  func report(_ told: WorkflowEvent) {
    let taskID = told.task.map { id(of: $0.index) }
    let taskName = told.task?.name
    var event = TelemetryEvent(
      .init(rawValue: told.kind.description), library: "WorkflowOperations", subject: taskName ?? workflow)
    event.source = workflow
    event.name = taskName ?? workflow
    event.id = taskID ?? id
    event.parentID = taskID == nil ? nil : id
    event.attempt = told.attempt > 0 ? told.attempt : nil
    event.error = told.error
    switch told.kind {
    case .workflowStarted, .started: event.kind = .started
    case .workflowFinished, .finished: event.kind = .succeeded
    case .workflowFailed, .failed: event.kind = .failed
    case .workflowCancelled, .cancelled: event.kind = .cancelled
    case .workflowRetried, .retried: event.kind = .retrying
    case .workflowReset: event.kind = .init(rawValue: "reset")
    default: break
    }
    switch told.kind {
    case .started, .workflowStarted:
      // The run before was cancelled, its attempts have not settled, and its end is not told.
      guard let duration = executions.begin(taskID ?? id) else { break }
      var end = event
      (end.kind, end.duration, end.attempt) = (.cancelled, duration, nil)
      if taskID == nil { end.level = .info }
      sink.receive(end)
    // Of an attempt that no longer counts: another one may execute.
    case .discarded, .retried, .workflowRetried, .workflowReset: break
    default: event.duration = executions.end(taskID ?? id)
    }
    if event.kind == .failed {
      event.level = taskID == nil ? .error : .warning
    } else if taskID == nil {
      event.level = .info
    }
    sink.receive(event)
  }

  private func id(of index: Int) -> Int64 {
    taskIDs.withLock { ids in
      if let id = ids[index] { return id }
      let id = TelemetryEvent.nextID()
      ids[index] = id
      return id
    }
  }
}
