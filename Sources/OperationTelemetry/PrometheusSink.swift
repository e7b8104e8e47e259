public import CompositeOperations

/// Counts events, and gives the numbers as text that Prometheus reads: serve ``text()`` from an
/// endpoint of your own, with the type `text/plain; version=0.0.4`.
///
/// | metric | what it is |
/// |---|---|
/// | `composite_operations_events_total` | a counter of events, by `library`, `subject` and `event` |
/// | `composite_operations_duration_seconds` | a histogram of how long things executed, by the same |
/// | `composite_operations_executing` | a gauge of what executes, by `library` and `subject` |
///
/// `event` is the kind of the event, which says how a thing ended. So the dead jobs of a kind are
/// `composite_operations_events_total{library="DurableOperations",subject="upload",event="dead"}`.
///
/// Neither names nor numbers of single things are labels. If a library has more subjects than
/// expected, since a program makes names up, its further ones are counted together as `other`. So
/// are its kinds beyond 100, and libraries beyond 32, so the number of series is bounded.
///
/// An event takes a lock and a few additions. Give one sink to everything that is counted together.
public final class PrometheusSink: TelemetrySink {
  private let state: LockBox<PrometheusState>

  /// Makes a sink that has counted nothing.
  ///
  /// - Parameters:
  ///   - buckets: the upper bounds of the buckets of the histogram, in ascending order, which is
  ///     checked; nil for fifteen from 5 ms to half an hour.
  ///   - maxSubjectCount: how many subjects of each library are told apart. At least 1.
  public init(buckets: [Duration]? = nil, maxSubjectCount: Int = 200) {
    let buckets = buckets ?? PrometheusState.defaultBuckets
    require(
      zip(buckets, buckets.dropFirst()).allSatisfy(<),
      "The buckets of a PrometheusSink, \(buckets), are not in ascending order.")
    require(maxSubjectCount >= 1, "The maxSubjectCount of a PrometheusSink is \(maxSubjectCount). Use 1 or more.")
    state = LockBox(PrometheusState(buckets: buckets.map { $0 / .seconds(1) }, maxSubjectCount: maxSubjectCount))
  }

  /// Counts an event.
  public func receive(_ event: TelemetryEvent) {
    state.withLock { $0.count(event) }
  }

  /// All numbers at this moment, in the text format 0.0.4 of Prometheus.
  public func text() -> String {
    // Copied inside the lock, written outside of it.
    let snapshot = state.withLock { $0.snapshot }
    return snapshot.text
  }
}
