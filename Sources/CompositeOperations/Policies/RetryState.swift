/// The attempts of one operation, as a value: how many there were, and what comes after a failure.
struct RetryState: Sendable {
  private let policy: RetryPolicy
  private var randomSource: any RandomNumberGenerator & Sendable

  /// How many attempts were begun.
  private(set) var attempts = 0

  init(_ policy: RetryPolicy) {
    self.policy = policy
    randomSource = policy.randomSource
  }

  /// An attempt begins. Returns its number, from 1.
  mutating func begin() -> Int {
    attempts += 1
    return attempts
  }

  /// The current attempt has failed. Returns after how long the next one is due; nil if there is none.
  mutating func failed(_ error: any Error) -> Duration? {
    guard attempts < policy.maxAttempts else { return nil }
    let pause: Duration
    switch policy.decide(error, attempts) {
    case .stop: return nil
    case .retryAfter(let delay): pause = max(delay, .zero)
    case .retry: pause = delay()
    }
    policy.willRetry?(error, attempts, pause)
    return pause
  }

  private mutating func delay() -> Duration {
    policy.delay(afterAttempt: attempts, randomFraction: { randomFraction() })
  }

  private mutating func randomFraction() -> Double {
    func draw(_ source: inout some RandomNumberGenerator & Sendable) -> Double {
      Double.random(in: 0...1, using: &source)
    }
    return draw(&randomSource)
  }
}

extension RetryPolicy {
  /// The delay after an attempt that failed: backoff, cap and jitter.
  ///
  /// - Parameter randomFraction: draws a number from 0 to 1; called if the jitter needs one.
  package func delay(afterAttempt attempt: Int, randomFraction: () throws -> Double) rethrows -> Duration {
    var delay = backoff.delay(afterAttempt: attempt)
    if let longest = maxDelay { delay = min(delay, longest) }
    switch jitter {
    case .none: return delay
    case .full: return delay > .zero ? delay * (try randomFraction()) : delay
    }
  }
}
