/// Counts how many bodies run at once.
///
/// Bodies call ``enter()`` first and ``leave()`` last; ``maximum`` is what a limit is compared
/// with.
public final class ConcurrencyGauge: Sendable {
  private struct State {
    var current = 0
    var maximum = 0
    var total = 0
  }

  private let state = Locked(State())

  /// Makes a gauge at zero.
  public init() {}

  /// Records that a body begins, and returns how many run now.
  @discardableResult
  public func enter() -> Int {
    state.withLock { state in
      state.current += 1
      state.total += 1
      state.maximum = max(state.maximum, state.current)
      return state.current
    }
  }

  /// Records that a body ended.
  public func leave() {
    state.withLock { $0.current -= 1 }
  }

  /// How many are under way.
  public var current: Int {
    state.withLock { $0.current }
  }

  /// The most that were under way at once.
  public var maximum: Int {
    state.withLock { $0.maximum }
  }

  /// How many entered so far.
  public var total: Int {
    state.withLock { $0.total }
  }
}
