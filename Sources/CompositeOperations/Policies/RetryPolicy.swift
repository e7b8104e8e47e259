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
  public struct Jitter: Sendable, Equatable {
    enum Spread: Sendable {
      case none, full, equal, decorrelated
    }

    let spread: Spread

    /// Not at all: each delay is the backoff's.
    public static let none = Jitter(spread: .none)
    /// Each delay is any between zero and the backoff's, all equally likely.
    public static let full = Jitter(spread: .full)
    /// Each delay is any between half of the backoff's and all of it: never at once.
    public static let equal = Jitter(spread: .equal)
    /// Each delay is any between the backoff's first and three times the delay before, and at most ``maxDelay``: it grows
    /// by itself, so the backoff counts for nothing but its first delay.
    ///
    /// The first delay is any between the backoff's first and three times that. Where the delay before is not kept, as in
    /// `RetryReactor`, the backoff's stands in for it.
    public static let decorrelated = Jitter(spread: .decorrelated)
  }

  /// How many attempts there are at most, the first included. At least 1; `Int.max` for no limit.
  public var maxAttempts: Int {
    didSet { requireAttempts() }
  }
  /// How long to wait before each further attempt.
  public var backoff: Backoff
  /// The longest that the backoff may come to; nil for no limit. Positive or zero.
  public var maxDelay: Duration? {
    didSet { requireDelay() }
  }
  /// How delays are spread.
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
  ///   - maxDelay: the longest that the backoff may come to, before the jitter. Traps if it is negative.
  ///   - jitter: how delays are spread.
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
