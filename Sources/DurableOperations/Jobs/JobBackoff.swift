import CompositeOperations

/// How long a failed job waits before its next attempt. A value that is stored with each job.
///
/// ```swift
/// let patient = JobBackoff.exponential(from: .seconds(30), maximum: .seconds(6 * 3600))
/// let regular = JobBackoff.constant(.seconds(60), jitter: false)
/// ```
///
/// The delays are those of the core's `Backoff`, but never longer than a maximum, and with full jitter unless told
/// otherwise: each delay is then any between zero and the one computed, all equally likely, so that many jobs that failed
/// together do not come back together.
///
/// Delays are kept in whole milliseconds: a fraction of one counts as a whole one.
public struct JobBackoff: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case none
    case constant(Int64)
    case linear(first: Int64, increment: Int64)
    case exponential(first: Int64, multiplier: Double)
    case fibonacci(Int64)
  }

  /// A day: long enough to sit out most failures of others, and short enough that someone still looks.
  public static let defaultMaximum = Duration.seconds(24 * 3600)

  let kind: Kind
  let maximumMilliseconds: Int64
  /// Whether each delay is any between zero and the one computed.
  public let jitter: Bool

  /// The longest delay there can be.
  public var maximum: Duration { .milliseconds(maximumMilliseconds) }

  init(kind: Kind, maximumMilliseconds: Int64, jitter: Bool) {
    self.kind = kind
    self.maximumMilliseconds = maximumMilliseconds
    self.jitter = jitter
  }

  private init(_ kind: Kind, _ maximum: Duration, _ jitter: Bool, _ name: StaticString) {
    self.init(kind: kind, maximumMilliseconds: Self.milliseconds(maximum, name, "maximum"), jitter: jitter)
  }

  /// What a job gets that says nothing: 1 s, 2 s, 4 s and so on, up to a day, with jitter.
  ///
  /// Ten attempts span at most 9 minutes, and 20 three and a half days; with the jitter half of that on average.
  public static let `default` = JobBackoff.exponential(from: .seconds(1))

  /// No delay. Not called `none`, which for an option that may be nil would be nil.
  public static let noDelay = JobBackoff(
    kind: .none, maximumMilliseconds: milliseconds(defaultMaximum, "noDelay", "maximum"), jitter: true)

  /// The same delay each time.
  ///
  /// - Parameters:
  ///   - delay: how long. Traps if it is negative.
  ///   - maximum: the longest delay there can be. Traps if it is negative.
  ///   - jitter: whether each delay is any between zero and that.
  public static func constant(
    _ delay: Duration, maximum: Duration = defaultMaximum, jitter: Bool = true
  ) -> JobBackoff {
    JobBackoff(.constant(milliseconds(delay, "constant", "delay")), maximum, jitter, "constant")
  }

  /// Delays that grow by the same increment each time: 1 s, 3 s, 5 s.
  ///
  /// - Parameters:
  ///   - first: the delay after the first attempt. Traps if it is negative.
  ///   - increment: by how much each further one is longer; nil for as much as the first. Traps if it is negative.
  ///   - maximum: the longest delay there can be. Traps if it is negative.
  ///   - jitter: whether each delay is any between zero and that.
  public static func linear(
    from first: Duration, by increment: Duration? = nil, maximum: Duration = defaultMaximum, jitter: Bool = true
  ) -> JobBackoff {
    let start = milliseconds(first, "linear", "first delay")
    let growth = increment.map { milliseconds($0, "linear", "increment") } ?? start
    return JobBackoff(.linear(first: start, increment: growth), maximum, jitter, "linear")
  }

  /// Delays each of which is a multiple of the one before: 1 s, 2 s, 4 s.
  ///
  /// - Parameters:
  ///   - first: the delay after the first attempt. Traps if it is negative.
  ///   - multiplier: what each further one is multiplied by. Traps unless it is a finite number of at least 1.
  ///   - maximum: the longest delay there can be. Traps if it is negative.
  ///   - jitter: whether each delay is any between zero and that.
  public static func exponential(
    from first: Duration, multiplier: Double = 2, maximum: Duration = defaultMaximum, jitter: Bool = true
  ) -> JobBackoff {
    require(
      multiplier >= 1 && multiplier.isFinite,
      "JobBackoff.exponential was given the multiplier \(multiplier). Use a finite number of at least 1.")
    let start = milliseconds(first, "exponential", "first delay")
    return JobBackoff(.exponential(first: start, multiplier: multiplier), maximum, jitter, "exponential")
  }

  /// Delays each of which is the sum of the two before: 1 s, 1 s, 2 s, 3 s, 5 s.
  ///
  /// - Parameters:
  ///   - unit: the first two. Traps if it is negative.
  ///   - maximum: the longest delay there can be. Traps if it is negative.
  ///   - jitter: whether each delay is any between zero and that.
  public static func fibonacci(
    _ unit: Duration, maximum: Duration = defaultMaximum, jitter: Bool = true
  ) -> JobBackoff {
    JobBackoff(.fibonacci(milliseconds(unit, "fibonacci", "unit")), maximum, jitter, "fibonacci")
  }

  /// The delay after an attempt that failed.
  ///
  /// - Parameters:
  ///   - attempt: the number of that attempt, from 1; a lower one counts as 1.
  ///   - random: where the jitter's random number comes from. Not asked if there is no jitter, or no delay.
  /// - Returns: a delay of zero or more, and at most ``maximum``, in whole milliseconds.
  public func delay(
    afterAttempt attempt: Int, using random: inout some RandomNumberGenerator
  ) -> Duration {
    let delay = min(backoff.delay(afterAttempt: attempt), maximum)
    guard jitter, delay > .zero else { return .milliseconds(delay.wholeMilliseconds) }
    return .milliseconds(Int64.random(in: 0...delay.wholeMilliseconds, using: &random))
  }

  private var backoff: Backoff {
    switch kind {
    case .none: .noDelay
    case .constant(let delay): .constant(.milliseconds(delay))
    case .linear(let first, let increment): .linear(from: .milliseconds(first), by: .milliseconds(increment))
    case .exponential(let first, let multiplier): .exponential(from: .milliseconds(first), multiplier: multiplier)
    case .fibonacci(let unit): .fibonacci(.milliseconds(unit))
    }
  }

  private static func milliseconds(_ duration: Duration, _ kind: StaticString, _ parameter: StaticString) -> Int64 {
    require(
      duration >= .zero,
      "JobBackoff.\(kind) was given the \(parameter) \(duration), which is in the past. Use zero or more.")
    return duration.wholeMilliseconds
  }
}

extension Duration {
  /// In milliseconds, a fraction counted as a whole one, and at most a century.
  fileprivate var wholeMilliseconds: Int64 {
    min(self, .milliseconds(JobBackoff.longestMilliseconds)).milliseconds
  }
}
