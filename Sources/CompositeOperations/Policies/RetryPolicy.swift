/// Whether to try again after a failure, how often, and after which delay.
///
/// ```swift
/// let policy = RetryPolicy(
///   maxAttempts: 5, backoff: .exponential(from: .milliseconds(200)), maxDelay: .seconds(10)
/// ) { error, attempt in
///   guard let error = error as? HTTPStatusError else { return .stop }
///   return error.retryAfter.map { .retryAfter($0) } ?? .retry
/// }
/// ```
///
/// A cancellation is never retried. A policy is a value: it can be stored, changed and used for
/// many operations.
public struct RetryPolicy: Sendable {
  /// What to do after one attempt has failed.
  public enum Decision: Sendable, Equatable {
    /// Try again after the policy's delay, if there is an attempt left.
    case retry
    /// Try again after this delay, if there is an attempt left. The delay is neither capped nor
    /// randomized. A negative delay means at once.
    case retryAfter(Duration)
    /// Do not try again: the error is final.
    case stop
  }

  /// The maximum number of attempts, the first included; `Int.max` for no limit. Traps if it is
  /// less than 1.
  public var maxAttempts: Int {
    didSet { requireAttempts() }
  }
  /// The delay before each further attempt. If the backoff has a maximum or a jitter of its own,
  /// these override ``maxDelay`` and ``jitter``.
  public var backoff: Backoff
  // Not a part of the backoff, because a backoff can be stored, with a durable job for example. A
  // closure in a backoff could be rejected only at run time, when the job is enqueued. Here the
  // compiler rejects it.
  /// Delays of your own, which replace those of the ``backoff``; nil for none.
  ///
  /// Called with the number of the attempt that failed, from 1, where the operations run. A
  /// negative delay counts as zero. Delays are capped by ``maxDelay`` and randomized by ``jitter``.
  ///
  /// ```swift
  /// var policy = RetryPolicy(maxAttempts: 5)
  /// policy.delays = { attempt in .milliseconds(100 * attempt * attempt) }
  /// ```
  public var delays: (@Sendable (_ attempt: Int) -> Duration)?
  /// The longest delay before it is randomized, unless the backoff has its own maximum; nil for no
  /// limit. Traps if it is negative.
  public var maxDelay: Duration? {
    didSet { requireDelay() }
  }
  /// How delays are randomized, unless the backoff has its own jitter: clients that failed together
  /// are not to retry together.
  public var jitter: Backoff.Jitter
  /// The source of the jitter's random numbers. Each operation that uses the policy has its own
  /// copy.
  public var randomSource: any RandomNumberGenerator & Sendable
  /// Decides after each failure while an attempt is left. Called with the error and the number of
  /// the attempt, from 1, where the operations run.
  public var decide: @Sendable (_ error: any Error, _ attempt: Int) -> Decision
  /// Called before the delay of each further attempt, where the operations run. It receives the
  /// error and the number of the attempt that failed, and the delay. The delay includes the jitter,
  /// and is zero if there is none. If the operation is cancelled during it, no attempt follows.
  public var willRetry: (@Sendable (_ error: any Error, _ attempt: Int, _ delay: Duration) -> Void)?

  /// Makes a policy.
  ///
  /// - Parameters:
  ///   - maxAttempts: the maximum number of attempts, the first included. Traps unless it is
  ///     positive.
  ///   - backoff: the delay before each further attempt.
  ///   - maxDelay: the longest delay before it is randomized, unless the backoff has a maximum.
  ///     Traps if it is negative.
  ///   - jitter: how delays are randomized, unless the backoff has a jitter.
  ///   - randomSource: the source of the jitter's random numbers.
  ///   - decide: decides after each failure while an attempt is left, by the error and the number
  ///     of the attempt. The default tries again.
  public init(
    maxAttempts: Int = 3, backoff: Backoff = .exponential(from: .milliseconds(200)),
    maxDelay: Duration? = .seconds(30), jitter: Backoff.Jitter = .full,
    randomSource: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    decide: @escaping @Sendable (_ error: any Error, _ attempt: Int) -> Decision = { _, _ in .retry }
  ) {
    self.maxAttempts = maxAttempts
    self.backoff = backoff
    self.maxDelay = maxDelay
    self.jitter = jitter
    self.randomSource = randomSource
    self.decide = decide
    requireAttempts()
    requireDelay()
  }

  private func requireAttempts() {
    require(
      maxAttempts >= 1,
      "RetryPolicy was given \(maxAttempts) attempts, so nothing could ever run. Use at least 1.")
  }

  private func requireDelay() {
    require(
      maxDelay.map { $0 >= .zero } ?? true,
      "RetryPolicy was given a maxDelay of \(maxDelay!), which is negative. Use zero or more.")
  }
}
