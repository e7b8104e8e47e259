import Foundation

// Rounds of the same work, every so often: `repeating`.

/// Does the same work every so often, until a condition holds.
///
/// ```swift
/// let done = repeating(every: .seconds(5), until: { $0.isFinished }) { _ in FetchStatus(of: job) }
/// let heartbeat = repeating(every: .seconds(30)) { _ in Ping(host).settled() }  // until it is cancelled
/// ```
///
/// Returns one operation that owns all rounds, and keeps the value of the last one alone. The first round begins at once, each
/// further one `interval` after the beginning of the one before; a round that takes longer is followed by the next at
/// once, and what was missed is not made up for. It succeeds with the value of the round after which `isDone` says so, or
/// of the last that `maxRounds` allows. A round that fails or is cancelled ends it in the same way; what may fail and go on
/// is a round of `settled()` or `retrying`.
///
/// Cancelling it cancels the round, or ends the pause, that is under way; so does settling it yourself. Between rounds no
/// thread and no slot of a queue is taken.
///
/// - Parameters:
///   - interval: the time from the beginning of one round to that of the next. Traps if it is negative.
///   - clock: the clock that it is measured by.
///   - maxRounds: how many rounds there are at most. Traps if it is less than 1.
///   - isDone: whether the value of a round is the one that was waited for. An error that it throws is what the returned
///     operation fails with; `CancellationError` cancels. Called where the operations run. By default never.
///   - makeOperation: makes each round, and gets its number, from 1. Called when the round is due, where the operations run;
///     released when none will be made any more. What it throws ends the rounds as what `isDone` throws does.
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
