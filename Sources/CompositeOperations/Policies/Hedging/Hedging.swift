import Foundation

/// Decides when operations get a second attempt, and how many do: see
/// ``ComposableOperation/hedged(by:_:)``.
///
/// ```swift
/// let search = Hedging("search", after: .percentile(0.95, atLeast: 20), maxExtraShare: 0.1)
/// ```
///
/// Use one hedging for each kind of work, such as a request to a server. It measures how long first
/// attempts take that succeed. May be used on any thread.
public final class Hedging: Sendable {
  /// After which time a second attempt starts.
  public struct Delay: Sendable {
    fileprivate enum Value {
      case fixed(Duration)
      case percentile(Double, atLeast: Int)
    }

    fileprivate let value: Value

    /// Always the same time. Traps if it is negative.
    public static func fixed(_ delay: Duration) -> Delay {
      require(delay >= .zero, "Hedging was given a delay of \(delay), which is negative. Use zero or more.")
      return Delay(value: .fixed(delay))
    }

    /// The time in which this share of the recent first attempts succeeded.
    ///
    /// - Parameters:
    ///   - share: the share, such as 0.95. Traps unless it is between 0 and 1.
    ///   - count: how many first attempts must have succeeded before there is a second attempt of
    ///     any operation. Traps unless it is positive.
    public static func percentile(_ share: Double, atLeast count: Int = 20) -> Delay {
      require(
        share > 0 && share < 1, "Hedging was given a percentile of \(share). Use a share between 0 and 1, such as 0.95."
      )
      require(count > 0, "Hedging was given a percentile of at least \(count) samples. Use 1 or more.")
      return Delay(value: .percentile(share, atLeast: count))
    }
  }

  /// A name for descriptions.
  public let name: String?
  let timekeeper: Timekeeper
  private let delay: Delay
  private let state: LockBox<HedgingState>

  /// Makes a hedging that has measured nothing.
  ///
  /// - Parameters:
  ///   - name: its name.
  ///   - delay: after which time a second attempt starts.
  ///   - maxExtraShare: how many second attempts there may be for each operation, on average: 0.1
  ///     allows one for ten operations, and up to ten in a row after a hundred operations without
  ///     one. Traps unless it is above 0 and at most 1.
  ///   - clock: the clock that measures attempts and delays.
  public init(
    _ name: String? = nil, after delay: Delay, maxExtraShare: Double = 0.1,
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    require(
      maxExtraShare > 0 && maxExtraShare <= 1,
      "Hedging was given a maxExtraShare of \(maxExtraShare). Use more than 0 and at most 1, such as 0.1.")
    self.name = name
    self.delay = delay
    timekeeper = .of(clock)
    state = LockBox(HedgingState(share: maxExtraShare))
  }

  /// Counts an operation. Returns the delay after which its second attempt may start; nil if there
  /// are too few samples.
  func begin() -> Duration? {
    state.withLock { state in
      state.begin()
      switch delay.value {
      case .fixed(let delay): return delay
      case .percentile(let share, let count): return state.sampleCount >= count ? state.percentile(share) : nil
      }
    }
  }

  /// Returns whether a second attempt may start.
  func admit() -> Bool {
    state.withLock { state in
      if case .percentile(_, let count) = delay.value, state.sampleCount < count { return false }
      return state.admit()
    }
  }

  /// Records how long a first attempt has taken that succeeded.
  func record(_ duration: Duration) { state.withLock { $0.record(duration) } }
}

/// The recent durations of first attempts, and how many second attempts are allowed.
struct HedgingState {
  /// How many durations count.
  private static let window = 256
  /// How many second attempts may follow each other at once.
  private static let burst = 10.0

  private let share: Double
  private var allowance: Double
  /// In the order of time; the next one replaces the oldest.
  private var recent: [Duration] = []
  private var oldest = 0
  private var sorted: [Duration] = []

  init(share: Double) {
    self.share = share
    // The first operation may have a second attempt if all may.
    allowance = share == 1 ? 1 : 0
  }

  var sampleCount: Int { recent.count }

  mutating func begin() { allowance = min(allowance + share, HedgingState.burst) }

  mutating func admit() -> Bool {
    guard allowance >= 1 - 1e-9 else { return false }
    allowance -= 1
    return true
  }

  mutating func record(_ duration: Duration) {
    if recent.count < HedgingState.window {
      recent.append(duration)
    } else {
      sorted.remove(at: index(of: recent[oldest]))
      recent[oldest] = duration
      oldest = (oldest + 1) % HedgingState.window
    }
    sorted.insert(duration, at: index(of: duration))
  }

  func percentile(_ share: Double) -> Duration {
    sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
  }

  /// The index of the first duration that is not shorter.
  private func index(of duration: Duration) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < duration { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
