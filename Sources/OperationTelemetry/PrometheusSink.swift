public import CompositeOperations

/// Counts events for Prometheus.
///
/// Serve ``text()`` from an endpoint of your program, with the type `text/plain; version=0.0.4`.
///
/// | metric | what it is |
/// |---|---|
/// | `composite_operations_events_total` | a counter of events, by `library`, `subject` and `event` |
/// | `composite_operations_duration_seconds` | a histogram of the times of executions, by the same |
/// | `composite_operations_executing` | a gauge of the executions now, by `library` and `subject` |
///
/// `event` is the kind of the event. So the number of dead jobs of a kind is
/// `composite_operations_events_total{library="DurableOperations",subject="upload",event="dead"}`.
///
/// Names and numbers of single operations, tasks and jobs are not labels. The number of series is
/// bounded. Subjects of a library beyond `maxSubjectCount`, kinds beyond 100 and libraries beyond
/// 32 are counted together as `other`.
///
/// Counting an event takes a lock and a few additions. Give the same sink to everything that is
/// counted together.
public final class PrometheusSink: TelemetrySink {
  private let state: LockBox<PrometheusState>

  /// Makes a sink that has counted nothing.
  ///
  /// - Parameters:
  ///   - buckets: the upper bounds of the buckets of the histogram. Traps unless they ascend. Nil
  ///     for fifteen bounds from 5 ms to half an hour.
  ///   - maxSubjectCount: how many subjects of each library are counted separately. Traps unless it
  ///     is positive.
  public init(buckets: [Duration]? = nil, maxSubjectCount: Int = 200) {
    let buckets = buckets ?? PrometheusState.defaultBuckets
    require(
      zip(buckets, buckets.dropFirst()).allSatisfy(<),
      "The buckets of a PrometheusSink, \(buckets), are not in ascending order. Sort them, and give each once.")
    require(
      maxSubjectCount >= 1,
      "The maxSubjectCount of a PrometheusSink is \(maxSubjectCount), so no subject could be counted. Use 1 or more.")
    state = LockBox(PrometheusState(buckets: buckets.map { $0 / .seconds(1) }, maxSubjectCount: maxSubjectCount))
  }

  /// Counts an event.
  public func receive(_ event: TelemetryEvent) {
    state.withLock { $0.count(event) }
  }

  /// Returns all numbers at this moment, in the text format 0.0.4 of Prometheus.
  public func text() -> String {
    // Copied inside the lock, written outside of it.
    let snapshot = state.withLock { $0.snapshot }
    return snapshot.text
  }
}
