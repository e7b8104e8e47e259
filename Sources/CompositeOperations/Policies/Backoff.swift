import Foundation

/// How long to wait before each further attempt: the delays of a ``RetryPolicy``, before cap and jitter.
///
/// Delays that grow end at a century.
public struct Backoff: Sendable {
  private enum Kind: Sendable {
    case constant(Duration)
    case linear(first: Duration, increment: Duration)
    case exponential(first: Duration, multiplier: Double)
    case fibonacci(Duration)
    case custom(@Sendable (_ attempt: Int) -> Duration)
  }

  private static let longest = Duration.seconds(100 * 365 * 24 * 3600)

  private let kind: Kind

  /// No delay.
  public static let noDelay = Backoff(kind: .constant(.zero))

  /// The former name of ``noDelay``. Where an optional backoff is asked for, it is no backoff at all.
  @available(*, deprecated, renamed: "noDelay")
  public static var none: Backoff { noDelay }

  /// The same delay each time. Traps if it is negative.
  public static func constant(_ delay: Duration) -> Backoff {
    requireDelay(delay, "constant")
    return Backoff(kind: .constant(delay))
  }

  /// Delays that grow by the same increment each time: 1 s, 3 s, 5 s. Traps if one of the two is negative.
  ///
  /// - Parameters:
  ///   - first: the delay before the second attempt.
  ///   - increment: by how much each further one is longer; nil for as much as the first.
  public static func linear(from first: Duration, by increment: Duration? = nil) -> Backoff {
    requireDelay(first, "linear")
    requireDelay(increment ?? first, "linear")
    return Backoff(kind: .linear(first: first, increment: increment ?? first))
  }

  /// Delays each of which is a multiple of the one before: 1 s, 2 s, 4 s.
  ///
  /// - Parameters:
  ///   - first: the delay before the second attempt. Traps if it is negative.
  ///   - multiplier: what each further one is multiplied by. Traps unless it is a number of at least 1.
  public static func exponential(from first: Duration, multiplier: Double = 2) -> Backoff {
    requireDelay(first, "exponential")
    require(
      multiplier >= 1 && multiplier.isFinite,
      "Backoff.exponential was given the multiplier \(multiplier). Use a finite number of at least 1.")
    return Backoff(kind: .exponential(first: first, multiplier: multiplier))
  }

  /// Delays each of which is the sum of the two before: 1 s, 1 s, 2 s, 3 s, 5 s. Traps if the unit is negative.
  public static func fibonacci(_ unit: Duration) -> Backoff {
    requireDelay(unit, "fibonacci")
    return Backoff(kind: .fibonacci(unit))
  }

  /// Delays of your own.
  ///
  /// - Parameter delay: gives the delay after an attempt that failed, numbered from 1. A negative one is none.
  public static func custom(_ delay: @escaping @Sendable (_ attempt: Int) -> Duration) -> Backoff {
    Backoff(kind: .custom(delay))
  }

  /// The delay after an attempt that failed.
  ///
  /// - Parameter attempt: the number of that attempt, from 1.
  public func delay(afterAttempt attempt: Int) -> Duration {
    let steps = max(attempt, 1) - 1
    return switch kind {
    case .constant(let delay): delay
    case .linear(let first, let increment): Self.linear(first, increment, steps)
    case .exponential(let first, let multiplier): Self.exponential(first, multiplier, steps)
    case .fibonacci(let unit): Self.fibonacci(unit, steps)
    case .custom(let delay): max(delay(attempt), .zero)
    }
  }

  private static func linear(_ first: Duration, _ increment: Duration, _ steps: Int) -> Duration {
    guard increment > .zero else { return first }
    guard Double(steps) < longest / increment else { return max(first, longest) }
    return first < longest ? min(first + increment * steps, longest) : first
  }

  private static func exponential(_ first: Duration, _ multiplier: Double, _ steps: Int) -> Duration {
    guard first > .zero, multiplier > 1, steps > 0 else { return first }
    let factor = pow(multiplier, Double(steps))
    guard first < longest, factor < longest / first else { return max(first, longest) }
    return first * factor
  }

  private static func fibonacci(_ unit: Duration, _ steps: Int) -> Duration {
    guard unit > .zero else { return unit }
    var (delay, next) = (unit, unit)
    for _ in 0..<steps {
      guard next < longest else { return max(delay, longest) }
      (delay, next) = (next, delay + next)
    }
    return delay
  }

  private static func requireDelay(_ delay: Duration, _ kind: StaticString) {
    require(
      delay >= .zero, "Backoff.\(kind) was given the delay \(delay), which is in the past. Use zero or more.")
  }
}
