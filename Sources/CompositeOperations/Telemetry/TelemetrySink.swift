/// Receives the events of all libraries, and passes them to logs, metrics or traces.
///
/// A program gives a sink to an operation, a workflow, a manager or a queue, with `report(to:)`.
/// The product `OperationTelemetry` has sinks for standard error, Prometheus and Apple's unified
/// log. A sink of your own takes a few lines:
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
/// Without a sink no events are made or reported. Several sinks of the same operation, workflow,
/// manager or queue receive each event one after the other, in no particular order.
public protocol TelemetrySink: Sendable {
  /// Receives an event.
  ///
  /// Called under no lock, on the thread that caused the event, or on a thread that is reporting an
  /// earlier event of the same operation. The thread continues its work when this method returns.
  /// So this method must not block, and must do long work elsewhere.
  ///
  /// The events of an operation and of the operations in it come one after the other, in order. The
  /// events of a workflow, of a manager, and of a job do so, too. A sink that was given to several
  /// of these is called by several threads at the same time. A sink may use the objects that report
  /// to it.
  func receive(_ event: TelemetryEvent)
}
