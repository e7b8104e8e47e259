extension Backoff {
  /// How delays are randomized, so that clients that failed together do not retry together.
  public struct Jitter: Sendable, Hashable {
    /// The raw values are the ends of stored backoffs.
    enum Spread: String, Sendable {
      case inherited = "", none = "!", full = "~f", equal = "~e", decorrelated = "~d"
    }

    let spread: Spread

    /// The jitter of what uses the backoff: ``RetryPolicy/jitter`` in a policy, ``full`` in a
    /// durable job. As the jitter of a policy itself it means ``full``.
    public static let inherited = Jitter(spread: .inherited)
    /// No randomness: each delay is that of the backoff.
    public static let none = Jitter(spread: .none)
    /// Each delay is random between zero and the delay of the backoff, uniformly distributed.
    public static let full = Jitter(spread: .full)
    /// Each delay is random between half of the backoff's delay and all of it.
    public static let equal = Jitter(spread: .equal)
    /// Each delay is random between the backoff's first delay and three times the previous delay,
    /// and at most the maximum. The delays grow by themselves, so only the first delay of the
    /// backoff is used.
    ///
    /// The first delay is random between the backoff's first delay and three times that delay. The
    /// reactor `.retrying` and durable jobs do not keep the previous delay, and use the backoff's
    /// delay instead.
    public static let decorrelated = Jitter(spread: .decorrelated)
  }
}

extension Backoff.Jitter {
  /// Randomizes the delay after an attempt that failed.
  ///
  /// - Parameters:
  ///   - attempt: the number of that attempt, from 1.
  ///   - previous: the delay before that attempt; nil if there was none, or it is unknown.
  ///   - maximum: the longest delay there can be.
  ///   - delay: returns the delay after an attempt, numbered from 1, before the delay is
  ///     randomized. It is between zero and the maximum.
  ///   - random: returns a random delay from `low` to `high`. Called only if needed.
  package func spread(
    afterAttempt attempt: Int, previous: Duration? = nil, maximum: Duration, delay: (_ attempt: Int) -> Duration,
    random: (_ low: Duration, _ high: Duration) throws -> Duration
  ) rethrows -> Duration {
    switch spread {
    case .none:
      return delay(attempt)
    case .inherited, .full:
      let delay = delay(attempt)
      return delay > .zero ? try random(.zero, delay) : delay
    case .equal:
      let delay = delay(attempt)
      return delay > .zero ? try random(delay / 2, delay) : delay
    case .decorrelated:
      let first = delay(1)
      let last = max(first, previous ?? delay(max(attempt, 2) - 1))
      return last > .zero ? min(try random(first, last * 3), maximum) : last
    }
  }
}
