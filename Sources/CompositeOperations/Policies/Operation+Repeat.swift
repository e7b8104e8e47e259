import Foundation

// Runs the same work periodically: `repeating`.

/// Runs the same work periodically until a condition holds.
///
/// ```swift
/// let done = repeating(every: .seconds(5), until: { $0.isFinished }) { _ in FetchStatus(of: job) }
/// let heartbeat = repeating(every: .seconds(30)) { _ in Ping(host).settled() }  // until it is cancelled
/// ```
///
/// Returns one operation that owns all rounds, and keeps only the value of the last one. The first
/// round begins at once, each further one `interval` after the beginning of the one before. If a
/// round takes longer, the next follows at once; missed rounds are skipped. The operation succeeds
/// with the value of the round for which `isDone` returns true, or of the last that `maxRounds`
/// allows. A round that fails or is cancelled ends it with the same outcome; use `settled()` or
/// `retrying` for rounds that may fail.
///
/// Cancelling it, or settling it yourself, cancels the current round or pause. Between rounds it
/// takes no thread and no slot of a queue.
///
/// - Parameters:
///   - interval: the time from the beginning of one round to that of the next. Traps if it is
///     negative.
///   - clock: the clock that measures the interval.
///   - maxRounds: the maximum number of rounds. Traps if it is less than 1.
///   - isDone: whether to end with the value of a round; never by default. Called where the
///     operations run. The returned operation fails with an error that it throws;
///     `CancellationError` cancels it.
///   - makeOperation: makes the operation of each round from its number, from 1. Called when the
///     round is due, where the operations run; released after the last round was made. An error
///     that it throws has the same effect as one of `isDone`.
public func repeating<O: ComposableOperation>(
  every interval: Duration, clock: some Clock<Duration> = ContinuousClock(), maxRounds: Int = .max,
  until isDone: @escaping @Sendable (_ value: O.Value) throws -> Bool = { _ in false },
  _ makeOperation: @escaping @Sendable (_ round: Int) throws -> O
) -> SimpleOperation<O.Value> {
  require(
    interval >= .zero, "repeating was given an interval of \(interval), which is in the past. Use zero or more.")
  require(
    maxRounds >= 1, "repeating was given \(maxRounds) rounds, so nothing could ever run. Use at least 1.")
  return ComposedOperation(
    RepeatSource(every: interval, .of(clock), maxRounds: maxRounds, makeOperation) { operation in
      guard let value = (operation as? O)?.outcome?.value else { return true }
      return try isDone(value)
    })
}
