/// When to try again after a failure, how often, and after how long.
///
/// ```swift
/// let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(200)), maxDelay: .seconds(10)) {
///   error, attempt in
///   guard let error = error as? HTTPError else { return .stop }
///   return error.retryAfter.map { .retryAfter($0) } ?? .retry
/// }
/// ```
///
/// A cancellation is never retried. A policy is a value: it can be kept, changed and used for many operations.
public struct RetryPolicy: Sendable {
  /// What to do after one attempt has failed.
  public enum Decision: Sendable, Equatable {
    /// Try again, if there is an attempt left, after the policy's delay.
    case retry
    /// Try again, if there is an attempt left, after this long, neither capped nor jittered; at once if it is negative.
    case retryAfter(Duration)
    /// Do not try again: the error is final.
    case stop
  }

  /// How delays are spread, so that many that failed together do not come back together.
  public typealias Jitter = Backoff.Jitter

  /// How many attempts there are at most, the first included. At least 1; `Int.max` for no limit.
  public var maxAttempts: Int {
    didSet { requireAttempts() }
  }
  /// How long to wait before each further attempt. What it says itself of the longest delay, and of jitter, goes before
  /// ``maxDelay`` and ``jitter``.
  public var backoff: Backoff
  // Apart from the backoff: that is a value, which can be stored, as with durable jobs. A closure in it would have to be
  // refused when a job is enqueued, at run time; here the compiler refuses it where it is written.
  /// Delays of your own, in place of the ``backoff``'s; nil for those.
  ///
  /// Called with the number of the attempt that failed, from 1, where the operations run. A negative delay is none. They
  /// are capped and spread by ``maxDelay`` and ``jitter``.
  ///
  /// ```swift
  /// var policy = RetryPolicy(maxAttempts: 5)
  /// policy.delays = { attempt in .milliseconds(100 * attempt * attempt) }
  /// ```
  public var delays: (@Sendable (_ attempt: Int) -> Duration)?
  /// The longest delay before it is spread, unless the backoff names a maximum of its own; nil for no limit. Positive or
  /// zero.
  public var maxDelay: Duration? {
    didSet { requireDelay() }
  }
  /// How delays are spread, unless the backoff names a jitter of its own.
  public var jitter: Jitter
  /// Where the jitter's random numbers come from. Each operation that uses the policy has its own copy.
  public var randomSource: any RandomNumberGenerator & Sendable
  /// Decides after each failure. Called with the error and the number of the attempt, from 1, where the operations run.
  public var decide: @Sendable (_ error: any Error, _ attempt: Int) -> Decision
  /// Told before each further attempt: what the last one failed with, its number, and how long the pause before the next
  /// one will be, jitter included; zero where there is none. Called where the operations run.
  public var willRetry: (@Sendable (_ error: any Error, _ attempt: Int, _ delay: Duration) -> Void)?

  /// Makes a policy.
  ///
  /// - Parameters:
  ///   - maxAttempts: how many attempts there are at most, the first included. Traps if it is less than 1.
  ///   - backoff: how long to wait before each further attempt.
  ///   - maxDelay: the longest delay before it is spread, unless the backoff names a maximum. Traps if it is negative.
  ///   - jitter: how delays are spread, unless the backoff names a jitter.
  ///   - randomSource: where the jitter's random numbers come from.
  ///   - decide: decides after each failure, by the error and the number of the attempt. The default is to try again.
  public init(
    maxAttempts: Int = 3, backoff: Backoff = .exponential(from: .milliseconds(200)),
    maxDelay: Duration? = .seconds(30), jitter: Jitter = .full,
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
      "RetryPolicy was given a maxDelay of \(maxDelay!), which is in the past. Use zero or more.")
  }
}
