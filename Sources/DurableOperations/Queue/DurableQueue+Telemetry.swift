public import CompositeOperations
import Foundation

extension DurableQueue {
  /// Reports to a sink what happens to jobs in this process from now on.
  ///
  /// ```swift
  /// queue.report(to: metrics)
  /// queue.report(to: StandardErrorSink(level: .warning, json: true))
  /// ```
  ///
  /// Of each job are reported: `added`, if this process enqueued it; each attempt that executes
  /// here, from `started` to its end, with its duration: `succeeded`, `retrying` after a failure,
  /// `dead`, `cancelled`, or `held`, `snoozed`, `returned` or `leaseLost`; and what else
  /// ``JobEvent`` tells, by the kinds of ``JobEvent/Kind``. Progress is not reported. The number of
  /// the job is the event's `id`, its kind is the event's `subject`; what the database does has the
  /// subject `database`.
  ///
  /// A job that is `dead` is at the level `error`. ``Configuration/logHandler`` is told of it, too,
  /// which writes a line on standard error unless it is set to nil.
  ///
  /// The events of one job come one after the other, in order, on the threads that made them
  /// happen, which wait for the sink: so it must not block. In it, call the queue with `await` in a
  /// `Task`; other calls may throw ``JobError/Code/insideTransaction``. Several threads may call it
  /// at the same time, of different jobs. A queue without a sink pays nothing.
  ///
  /// - Parameter sink: the sink. Released with the queue, and when it was removed.
  /// - Returns: a token to remove the sink with, which need not be kept.
  @discardableResult
  public func report(to sink: some TelemetrySink) -> ObservationToken {
    let reporter = QueueReporter(sink: sink, queue: location.shortName)
    let (events, feed) = (core.events, EventFeed<JobEvent>(tap: { reporter.report($0) }))
    let number = events.add(feed)
    return ObservationToken { [weak events, weak feed] in
      feed?.close()
      if let number { events?.remove(number) }
    }
  }
}

/// Makes events for a sink of those of a queue.
private struct QueueReporter: Sendable {
  let sink: any TelemetrySink
  let queue: String
  /// The jobs that execute here.
  let executions = OpenExecutions<JobID>()

  /// May be called by several threads, with the events of one job one after the other.
  func report(_ told: JobEvent) {
    guard told.kind != .progress else { return }
    let ids = told.jobIDs
    if ids.isEmpty { return report(told, of: nil) }
    for id in ids { report(told, of: id) }
  }

  private func report(_ told: JobEvent, of id: JobID?) {
    var event = TelemetryEvent(
      .init(rawValue: told.kind.description), library: "DurableOperations",
      subject: told.jobKind ?? (id == nil ? "database" : "job"))
    event.source = queue
    event.id = id?.rawValue
    event.attempt = told.attempt
    event.error = told.error
    switch told.kind {
    case .enqueued: event.kind = .added
    case .done: (event.kind, event.level) = (.succeeded, .info)
    case .failed: (event.kind, event.level) = (.retrying, .warning)
    case .dead: event.level = .error
    case .cancelled: event.level = .info
    case .held, .abandoned, .unresponsive, .leaseLost, .rescued, .unknownKind, .databaseSlow: event.level = .warning
    case .databaseFailed, .unwritten: event.level = .error
    case .databaseBack: event.level = .info
    default: break
    }
    if let id { time(id, told.kind, &event) }
    sink.receive(event)
  }

  private func time(_ id: JobID, _ kind: JobEvent.Kind, _ event: inout TelemetryEvent) {
    switch kind {
    case .started:
      // The attempt before was cut off when the queue was suspended, and its end is not told.
      guard let duration = executions.begin(id) else { return }
      var end = event
      (end.kind, end.duration, end.attempt) = (.init(rawValue: "returned"), duration, nil)
      sink.receive(end)
    case .done, .failed, .snoozed, .dead, .held, .cancelled, .returned, .leaseLost:
      event.duration = executions.end(id)
    default: break
    }
  }
}

extension DurableQueue.Location {
  /// The name of the file, or the schema.
  fileprivate var shortName: String {
    switch self {
    case .file(let url), .existingFile(let url), .readOnlyFile(let url): return url.lastPathComponent
    case .memory: return "memory"
    #if os(macOS) || os(Linux)
    case .postgres(_, let options), .existingPostgres(_, let options): return options.schema
    #endif
    }
  }
}
