extension Backoff {
  /// How delays are spread, so that many that failed together do not come back together.
  public struct Jitter: Sendable, Hashable {
    enum Spread: Sendable {
      case inherited, none, full, equal, decorrelated
    }

    let spread: Spread

    /// As who uses the backoff spreads delays: ``RetryPolicy/jitter`` of a policy, and ``full`` for a durable job. In a
    /// policy itself it is ``full``, too.
    public static let inherited = Jitter(spread: .inherited)
    /// Not at all: each delay is the backoff's.
    public static let none = Jitter(spread: .none)
    /// Each delay is any between zero and the backoff's, all equally likely.
    public static let full = Jitter(spread: .full)
    /// Each delay is any between half of the backoff's and all of it: never at once.
    public static let equal = Jitter(spread: .equal)
    /// Each delay is any between the backoff's first and three times the delay before, and at most the maximum: it grows
    /// by itself, so the backoff counts for nothing but its first delay.
    ///
    /// The first delay is any between the backoff's first and three times that. Where the delay before is not kept, as in
    /// `.retrying` and with durable jobs, the backoff's stands in for it.
    public static let decorrelated = Jitter(spread: .decorrelated)
  }
}

extension Backoff.Jitter {
  /// Spreads the delay after an attempt that failed.
  ///
  /// - Parameters:
  ///   - attempt: the number of that attempt, from 1.
  ///   - previous: the delay before that attempt; nil if there was none, or it is not known.
  ///   - maximum: the longest delay there can be.
  ///   - delay: gives the delay after an attempt, from 1, before it is spread: from zero to the maximum.
  ///   - random: draws a delay from the first to the second; called if one is needed.
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
