import Foundation

// Runs the same work periodically: `repeating`.

/// Runs the same work periodically until a condition holds.
///
/// ```swift
/// let done = repeating(every: .seconds(5), until: { $0.isFinished }) { _ in FetchStatus(of: job) }
/// // Runs until it is cancelled.
/// let heartbeat = repeating(every: .seconds(30)) { _ in Ping(host).settled() }
/// ```
///
/// Returns one operation that owns all rounds, and keeps only the value of the last one. The first
/// round begins at once. Each further round begins `interval` after the beginning of the round
/// before. If a round takes longer, the next round follows at once, and missed rounds are skipped.
/// The operation succeeds with the value of the round for which `isDone` returns true, or of the
/// last round that `maxRounds` allows. If a round fails or is cancelled, the operation ends with
/// the same outcome. Use `settled()` or `retrying` for rounds that may fail.
///
/// Cancelling the operation, or settling it yourself, cancels the current round or pause. Between
/// rounds the operation takes neither a thread nor a slot of a queue.
///
/// - Parameters:
///   - interval: the time from the beginning of one round to that of the next. Traps if it is
///     negative.
///   - clock: the clock that measures the interval.
///   - maxRounds: the maximum number of rounds. Traps if it is less than 1.
///   - isDone: returns whether to end with the value of a round. By default it never does. Called
///     where the operations run. If it throws an error, the returned operation fails with that
///     error; a `CancellationError` cancels the returned operation.
///   - makeOperation: makes the operation of each round. It receives the number of the round, which
///     begins at 1. Called when the round is due, where the operations run. Released after the last
///     round was made. An error that it throws has the same effect as an error of `isDone`.
public func repeating<O: ComposableOperation>(
  every interval: Duration, clock: some Clock<Duration> = ContinuousClock(), maxRounds: Int = .max,
  until isDone: @escaping @Sendable (_ value: O.Value) throws -> Bool = { _ in false },
  _ makeOperation: @escaping @Sendable (_ round: Int) throws -> O
) -> SimpleOperation<O.Value> {
  require(
    interval >= .zero, "repeating was given an interval of \(interval), which is negative. Use zero or more.")
  require(
    maxRounds >= 1, "repeating was given \(maxRounds) rounds, so nothing could ever run. Use at least 1.")
  return ComposedOperation(
    RepeatForm(every: interval, .of(clock), maxRounds: maxRounds, makeOperation) { operation in
      guard let value = (operation as? O)?.outcome?.value else { return true }
      return try isDone(value)
    })
}
