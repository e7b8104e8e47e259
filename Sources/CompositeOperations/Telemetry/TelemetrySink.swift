/// Receives what the libraries report: the one seam between them and logs, metrics and traces.
///
/// A program gives a sink to what it wants to hear of, by `report(to:)` of an operation, a
/// workflow, a manager or a queue. The product `OperationTelemetry` has sinks for standard error,
/// Prometheus and Apple's unified log. One of your own is a few lines:
///
/// ```swift
/// struct FailureCounter: TelemetrySink {
///   let failures = Mutex(0)
///   func receive(_ event: TelemetryEvent) {
///     if event.level == .error { failures.withLock { $0 += 1 } }
///   }
/// }
/// ```
///
/// What has no sink costs nothing: the engine has no place that looks for one. What has some gives
/// each event to all of them, one after the other, in no particular order.
public protocol TelemetrySink: Sendable {
  /// Receives an event.
  ///
  /// Called on the thread that made it happen, or, for what happens in one operation, on one that
  /// is reporting an earlier event of it. Called under no lock. What happened goes on when this
  /// returns, and nothing is kept meanwhile for a sink that is slow: so it must not block, and
  /// hands on what takes long.
  ///
  /// The events of one thing come one after the other, in order: those of an operation and all that
  /// runs in it, of a workflow, of a manager, of a job. A sink that was given to several of them is
  /// called by several threads at the same time. It may use what reports to it.
  func receive(_ event: TelemetryEvent)
}
