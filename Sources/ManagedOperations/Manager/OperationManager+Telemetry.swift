public import CompositeOperations

extension OperationManager {
  /// Reports to a sink what happens to all tasks from now on.
  ///
  /// ```swift
  /// manager.report(to: StandardErrorSink(level: .warning))
  /// ```
  ///
  /// Of each task are reported: that it was added; each attempt, from `started` to `attemptEnded`,
  /// with its duration; that it is held, reacted to or retried; and last how it ended. An attempt
  /// that has timed out, or whose handle you have settled, has no `attemptEnded`, and the end of
  /// the task has its duration. The end is `dropped` if an interceptor discarded the task, if its
  /// handle was released before its start, if the manager was released before the task had ended,
  /// or if it had been stopped before the task was added. A task that ``stop(grace:)`` cancels is
  /// `cancelled`. All other kinds are those of ``ManagedEvent/Kind``. The id of the task is the
  /// event's `id`, and its type is the event's `subject`.
  ///
  /// The sink is called with one event at a time, in the order in which things happened, under no
  /// lock: on the thread that made it happen or, if another thread is just telling something, on
  /// that one, or on the thread of a task that waits for the manager or a handle. A manager without
  /// a sink measures nothing.
  ///
  /// - Parameter sink: the sink. Released when it was removed, or when the manager was released and
  ///   its last attempt has ended.
  /// - Returns: a token to remove the sink with, which need not be kept.
  @discardableResult
  public func report(to sink: some TelemetrySink) -> ObservationToken {
    let reporter = ManagerReporter(sink: sink, manager: name)
    let feed = EventFeed<ManagedEvent>(tap: { reporter.report($0) })
    let number = core.addStream(feed)
    return ObservationToken { [weak core, weak feed] in
      feed?.close()
      core?.removeStream(number)
    }
  }
}

/// Makes events for a sink of those of a manager.
private struct ManagerReporter: Sendable {
  let sink: any TelemetrySink
  let manager: String
  /// The attempts that execute, by the identifiers of their tasks.
  let executions = OpenExecutions<Int>()

  /// Called for one event after the other.
  func report(_ told: ManagedEvent) {
    // A handle was started. What executes is an attempt.
    guard told.kind != .started else { return }
    let id = told.taskID
    var event = TelemetryEvent(
      .init(rawValue: told.kind.description), library: "ManagedOperations", subject: told.taskDescription)
    event.source = manager
    event.id = Int64(id)
    event.attempt = told.attempt > 0 ? told.attempt : nil
    event.error = told.outcome?.error
    switch told.kind {
    case .attemptStarted:
      event.kind = .started
      _ = executions.begin(id)
    case .attemptEnded:
      event.duration = executions.end(id)
      if event.error != nil { event.level = .warning }
    case .requeued:
      event.kind = .retrying
      event.level = .warning
    case .finished:
      // One that has timed out ends before its attempt does.
      event.duration = executions.end(id)
      (event.kind, event.level) = Self.end(of: id, as: told.outcome)
    case .dropped: event.level = .warning
    default: break
    }
    sink.receive(event)
  }

  private static func end(
    of id: Int, as outcome: Outcome<any Sendable>?
  ) -> (TelemetryEvent.Kind, TelemetryEvent.Level) {
    switch outcome {
    case .success: (.succeeded, .info)
    // A task may fail with the error of another one, which it ran in another manager.
    case .failure(let error as ManagedTaskError) where error.taskID != id: (.failed, .error)
    // What the program wants is no error.
    case .failure(let error as ManagedTaskError) where error.code == .discarded: (.dropped, .warning)
    case .failure(let error as ManagedTaskError) where error.code == .managerReleased || error.code == .stopped:
      (.dropped, .error)
    case .failure: (.failed, .error)
    case .cancelled, nil: (.cancelled, .info)
    }
  }
}
