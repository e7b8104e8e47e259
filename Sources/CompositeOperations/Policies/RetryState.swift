/// The state of `retrying`: the number of attempts, and what follows a failure.
struct RetryState: Sendable {
  private let policy: RetryPolicy
  private var randomSource: any RandomNumberGenerator & Sendable

  /// How many attempts have begun.
  private(set) var attempts = 0
  /// The last delay that came from the policy.
  private var lastDelay: Duration?

  init(_ policy: RetryPolicy) {
    self.policy = policy
    randomSource = policy.randomSource
  }

  /// Begins an attempt. Returns its number, from 1.
  mutating func begin() -> Int {
    attempts += 1
    return attempts
  }

  /// Whether another attempt may follow the current one.
  var hasAttemptLeft: Bool { attempts < policy.maxAttempts }

  /// Records that the current attempt has failed. Returns the delay before the next attempt; nil if
  /// no attempt follows.
  mutating func failed(_ error: any Error) -> Duration? {
    hasAttemptLeft ? decided(policy.decide(error, attempts), after: error) : nil
  }

  /// Applies a decision. Called only while an attempt is left. Returns the same as ``failed(_:)``.
  mutating func decided(_ decision: RetryPolicy.Decision, after error: any Error) -> Duration? {
    let pause: Duration
    switch decision {
    case .stop: return nil
    case .retryAfter(let delay): pause = max(delay, .zero)
    case .retry:
      pause = policy.delay(
        afterAttempt: attempts, previous: lastDelay,
        randomFraction: { OperationContext.bindNone { randomSource.fraction() } })
      lastDelay = pause
    }
    policy.willRetry?(error, attempts, pause)
    return pause
  }
}

extension RandomNumberGenerator {
  /// Returns a random number from 0 to 1. Asks the generator once: `Double.random(in:)` may ask for
  /// ever where the generator of a test always returns the same.
  package mutating func fraction() -> Double {
    Double(next() >> 11) / Double((UInt64(1) << 53) - 1)
  }
}

extension RetryPolicy {
  /// Returns the delay after an attempt that failed, with the cap and the jitter applied.
  ///
  /// - Parameters:
  ///   - previous: the delay before that attempt; nil if there was none, or it is unknown.
  ///   - randomFraction: returns a random number from 0 to 1; called only if the jitter needs one.
  package func delay(
    afterAttempt attempt: Int, previous: Duration? = nil, randomFraction: () throws -> Double
  ) rethrows -> Duration {
    // An explicit maximum of the backoff takes precedence over the cap of the policy, which is
    // mostly the default.
    let own = delays == nil ? backoff : nil
    let maximum = min(own?.maximum ?? maxDelay ?? Backoff.longest, Backoff.longest)
    let jitter = own.map(\.jitter).flatMap { $0 == .inherited ? nil : $0 } ?? jitter
    return try jitter.spread(
      afterAttempt: attempt, previous: previous, maximum: maximum,
      delay: { min(max(delays?($0) ?? backoff.delay(afterAttempt: $0), .zero), maximum) },
      random: { low, high in low + (high - low) * (try randomFraction()) })
  }
}
