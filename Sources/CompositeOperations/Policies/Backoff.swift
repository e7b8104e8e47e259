import Foundation

/// The delays before further attempts, for a ``RetryPolicy`` or for a durable job.
///
/// ```swift
/// let patient = Backoff.exponential(from: .seconds(30), maxDelay: .seconds(6 * 3600))
/// let regular = Backoff.constant(.seconds(60), jitter: .none)
/// ```
///
/// A backoff may have a `maxDelay` and a `jitter` of its own. Without them, a retry policy uses its
/// ``RetryPolicy/maxDelay`` and ``RetryPolicy/jitter``, and a durable job uses a day and full
/// jitter.
///
/// A backoff can be compared, and can be stored: see ``encode(to:)``. So it contains no closure.
/// For delays of your own see ``RetryPolicy/delays``.
///
/// A delay longer than a century counts as a century.
public struct Backoff: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case none
    case constant(Duration)
    case linear(first: Duration, increment: Duration)
    case exponential(first: Duration, multiplier: Double)
    case fibonacci(Duration)
  }

  static let longest = Duration.seconds(100 * 365 * 24 * 3600)

  let kind: Kind
  /// The longest delay; nil for the maximum of the retry policy or the durable job.
  package let maximum: Duration?
  /// How the delays are randomized.
  package let jitter: Jitter

  /// No delay. Not called `none`, which would mean nil for an optional backoff.
  public static let noDelay = Backoff(kind: .none, maximum: nil, jitter: .inherited)

  /// The same delay each time.
  ///
  /// - Parameters:
  ///   - delay: the delay. Traps if it is negative.
  ///   - maxDelay: the longest delay; nil for the maximum of the retry policy or the durable job.
  ///     Traps if it is negative.
  ///   - jitter: how the delays are randomized.
  public static func constant(
    _ delay: Duration, maxDelay: Duration? = nil, jitter: Jitter = .inherited
  ) -> Backoff {
    make(.constant(checked(delay, "constant", "delay")), maxDelay, jitter, "constant")
  }

  /// Delays that grow by the same increment each time: 1 s, 3 s, 5 s.
  ///
  /// - Parameters:
  ///   - first: the delay before the second attempt. Traps if it is negative.
  ///   - increment: by how much each further delay grows; nil for the first delay. Traps if it is
  ///     negative.
  ///   - maxDelay: the longest delay; nil for the maximum of the retry policy or the durable job.
  ///     Traps if it is negative.
  ///   - jitter: how the delays are randomized.
  public static func linear(
    from first: Duration, by increment: Duration? = nil, maxDelay: Duration? = nil, jitter: Jitter = .inherited
  ) -> Backoff {
    let start = checked(first, "linear", "first delay")
    let growth = increment.map { checked($0, "linear", "increment") } ?? start
    return make(.linear(first: start, increment: growth), maxDelay, jitter, "linear")
  }

  /// Delays that grow by the same factor each time: 1 s, 2 s, 4 s.
  ///
  /// - Parameters:
  ///   - first: the delay before the second attempt. Traps if it is negative.
  ///   - multiplier: the factor by which each further delay grows. Traps unless it is a finite
  ///     number of at least 1.
  ///   - maxDelay: the longest delay; nil for the maximum of the retry policy or the durable job.
  ///     Traps if it is negative.
  ///   - jitter: how the delays are randomized.
  public static func exponential(
    from first: Duration, multiplier: Double = 2, maxDelay: Duration? = nil, jitter: Jitter = .inherited
  ) -> Backoff {
    let start = checked(first, "exponential", "first delay")
    require(
      multiplier >= 1 && multiplier.isFinite,
      "Backoff.exponential was given the multiplier \(multiplier). Use a finite number of at least 1.")
    return make(.exponential(first: start, multiplier: multiplier), maxDelay, jitter, "exponential")
  }

  /// Delays that are the sum of the two delays before: 1 s, 1 s, 2 s, 3 s, 5 s.
  ///
  /// - Parameters:
  ///   - unit: the first two delays. Traps if it is negative.
  ///   - maxDelay: the longest delay; nil for the maximum of the retry policy or the durable job.
  ///     Traps if it is negative.
  ///   - jitter: how the delays are randomized.
  public static func fibonacci(
    _ unit: Duration, maxDelay: Duration? = nil, jitter: Jitter = .inherited
  ) -> Backoff {
    make(.fibonacci(checked(unit, "fibonacci", "unit")), maxDelay, jitter, "fibonacci")
  }

  /// Returns the delay after an attempt that failed, before it is randomized.
  ///
  /// - Parameter attempt: the number of that attempt, from 1; a lower one counts as 1.
  /// - Returns: a delay of zero or more, and at most its `maxDelay`, if it has one.
  public func delay(afterAttempt attempt: Int) -> Duration {
    let steps = max(attempt, 1) - 1
    let delay: Duration =
      switch kind {
      case .none: .zero
      case .constant(let delay): delay
      case .linear(let first, let increment): Self.linear(first, increment, steps)
      case .exponential(let first, let multiplier): Self.exponential(first, multiplier, steps)
      case .fibonacci(let unit): Self.fibonacci(unit, steps)
      }
    return min(delay, maximum ?? Self.longest)
  }

  /// Returns a copy with each duration changed, and with another maximum and jitter.
  package func with(
    maximum: Duration?, jitter: Jitter, eachDuration change: (Duration) -> Duration
  ) -> Backoff {
    func changed(_ duration: Duration) -> Duration { min(max(change(duration), .zero), Self.longest) }
    let kind: Kind =
      switch kind {
      case .none: .none
      case .constant(let delay): .constant(changed(delay))
      case .linear(let first, let increment): .linear(first: changed(first), increment: changed(increment))
      case .exponential(let first, let multiplier): .exponential(first: changed(first), multiplier: multiplier)
      case .fibonacci(let unit): .fibonacci(changed(unit))
      }
    return Backoff(kind: kind, maximum: maximum.map(changed), jitter: jitter)
  }

  private static func make(_ kind: Kind, _ maximum: Duration?, _ jitter: Jitter, _ name: StaticString) -> Backoff {
    Backoff(kind: kind, maximum: maximum.map { checked($0, name, "maxDelay") }, jitter: jitter)
  }

  private static func checked(_ duration: Duration, _ kind: StaticString, _ parameter: StaticString) -> Duration {
    require(
      duration >= .zero,
      "Backoff.\(kind) was given the \(parameter) \(duration), which is negative. Use zero or more.")
    return min(duration, longest)
  }

  // No sum or product below exceeds two centuries, because the durations and the results are at
  // most one century.

  private static func linear(_ first: Duration, _ increment: Duration, _ steps: Int) -> Duration {
    guard increment > .zero else { return first }
    guard Double(steps) < longest / increment else { return longest }
    return min(first + increment * steps, longest)
  }

  private static func exponential(_ first: Duration, _ multiplier: Double, _ steps: Int) -> Duration {
    guard first > .zero, multiplier > 1, steps > 0 else { return first }
    let factor = pow(multiplier, Double(steps))
    guard factor < longest / first else { return longest }
    return min(first * factor, longest)
  }

  private static func fibonacci(_ unit: Duration, _ steps: Int) -> Duration {
    guard unit > .zero else { return unit }
    var (delay, next) = (unit, unit)
    for _ in 0..<steps {
      guard next < longest else { return longest }
      (delay, next) = (next, delay + next)
    }
    return min(delay, longest)
  }
}
