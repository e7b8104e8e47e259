import CompositeOperations

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let fetch = Fetch(url).timeout(.seconds(3), clock: clock)
/// queue.addOperation(fetch)
/// await clock.waitForSleeper(dueIn: .seconds(3))  // until the timeout is set
/// clock.advance(by: .seconds(3))
/// #expect(await … is OperationTimeout)
/// ```
///
/// Everything in the package that waits on a clock shares one sleep, the one that ends first. So
/// ``sleeperCount`` is 1, however many timeouts are pending. ``waitForSleeper(dueIn:)`` knows
/// each of them.
///
/// All members may be used from any thread.
public final class ManualClock: Clock, Sendable {
  /// A moment of a ``ManualClock``: the time that it was moved since it was made.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public let offset: Duration

    /// Makes the moment this long after the clock was made.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// The moment this much later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// The time from this moment to another.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Whether one moment comes before another.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// What a watcher of the clock waits for.
  private enum Sight {
    case anySleeper
    case sleeper(until: Instant)
    case noSleeper
  }

  private struct Watcher {
    let number: Int
    let sight: Sight
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now = Instant()
    var lastNumber = 0
    var sleepers: [Int: Sleeper] = [:]
    /// Sleeps that were cancelled before they began.
    var cancelled: Set<Int> = []
    /// How many timers of the package are pending for an instant. A task sleeps for the first of
    /// them only.
    var timers: [Instant: Int] = [:]
    var watchers: [Watcher] = []

    func isSeen(_ sight: Sight) -> Bool {
      switch sight {
      case .anySleeper: return !sleepers.isEmpty
      case .noSleeper: return sleepers.isEmpty && timers.isEmpty
      case .sleeper(let deadline):
        // Nothing sleeps until a moment that has come.
        if deadline <= now { return true }
        // A task sleeps until then, or for the first of several timers, one of which is due then.
        let isTimed = timers[deadline] != nil
        return sleepers.values.contains { $0.deadline == deadline || isTimed && $0.deadline < deadline }
      }
    }

    var nextDeadline: Instant? {
      [sleepers.values.map(\.deadline).min(), timers.keys.min()].compactMap { $0 }.min()
    }

    /// Removes the watchers that have seen what they wait for.
    mutating func takeWatchers() -> [Watcher] {
      let seen = watchers.filter { isSeen($0.sight) }
      if !seen.isEmpty { watchers = watchers.filter { !isSeen($0.sight) } }
      return seen
    }
  }

  private let state = LockBox(State())

  /// Makes a clock at zero.
  public init() {}

  /// The present moment of the clock.
  public var now: Instant { state.withLock { $0.now } }

  /// Zero: the clock is exact.
  public var minimumResolution: Duration { .zero }

  // MARK: - For tests

  /// How many tasks sleep on the clock.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// The first moment in which a task that sleeps on the clock wakes, or a pending timer is due;
  /// nil if there is none.
  package var nextDeadline: Instant? { state.withLock { $0.nextDeadline } }

  /// Moves the clock forward, and wakes the tasks whose time has come, the earliest first.
  ///
  /// They go on on other threads, after this has returned: wait for the effect, such as an outcome.
  ///
  /// - Parameter duration: how far. Traps if it is negative.
  public func advance(by duration: Duration) {
    require(duration >= .zero, "ManualClock was to advance by \(duration). Time does not go back: use zero or more.")
    advance { $0.now.advanced(by: duration) }
  }

  /// Moves the clock forward to an instant. Does nothing if it is there already, or later.
  public func advance(to deadline: Instant) {
    advance { max($0.now, deadline) }
  }

  /// Moves the clock forward to the first moment in which a task that sleeps on it wakes, or a
  /// pending timer is due.
  ///
  /// - Returns: how far the clock was moved; nil if no task sleeps, and no timer is pending.
  @discardableResult
  public func advanceToNextSleeper() -> Duration? {
    var moved: Duration?
    advance { state in
      guard let next = state.nextDeadline else { return state.now }
      moved = state.now.duration(to: next)
      return next
    }
    return moved
  }

  /// Waits until a task sleeps on the clock that wakes this long from now, or a timer is pending
  /// that is due then, whatever else is on the clock. Also returns when the clock has reached that
  /// moment, at once for a duration of zero, and when the waiting task is cancelled, as by the time
  /// limit of a test.
  ///
  /// - Parameter duration: counted from the present moment of the clock; nil to wait until any task
  ///   sleeps on it.
  public func waitForSleeper(dueIn duration: Duration? = nil) async {
    await wait(for: duration.map { Sight.sleeper(until: now.advanced(by: $0)) } ?? .anySleeper)
  }

  /// Waits until no task sleeps on the clock, and no timer of the package is pending on it: each
  /// was cancelled, or its time has come. Also returns when the waiting task is cancelled.
  public func waitUntilIdle() async {
    await wait(for: .noSleeper)
  }

  private func wait(for sight: Sight) async {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          // A later cancel finds the watcher.
          let isOver = state.isSeen(sight) || Task.isCancelled
          if !isOver { state.watchers.append(Watcher(number: number, sight: sight, continuation: continuation)) }
          return isOver
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let watcher = state.withLock { state in
        state.watchers.firstIndex { $0.number == number }.map { state.watchers.remove(at: $0) }
      }
      watcher?.continuation.resume()
    }
  }

  private func advance(_ target: (inout State) -> Instant) {
    let (due, watchers): ([Sleeper], [Watcher]) = state.withLock { state in
      state.now = target(&state)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      state.timers = state.timers.filter { $0.key > state.now }
      let sorted = due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
      return (sorted, state.takeWatchers())
    }
    for sleeper in due { sleeper.continuation.resume() }
    for watcher in watchers { watcher.continuation.resume() }
  }

  // MARK: - For code that waits

  /// Sleeps until the clock reaches `deadline`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    // A cancel between the waking and the end of the handler may leave its mark.
    defer { state.withLock { _ = $0.cancelled.remove(number) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        fallAsleep(number, Sleeper(deadline: deadline, continuation: continuation))
      }
    } onCancel: {
      let (sleeper, watchers): (Sleeper?, [Watcher]) = state.withLock { state in
        guard let sleeper = state.sleepers.removeValue(forKey: number) else {
          state.cancelled.insert(number)
          return (nil, [])
        }
        return (sleeper, state.takeWatchers())
      }
      sleeper?.continuation.resume(throwing: CancellationError())
      for watcher in watchers { watcher.continuation.resume() }
    }
  }

  private func fallAsleep(_ number: Int, _ sleeper: Sleeper) {
    enum Begin {
      case sleeping([Watcher])
      case cancelled, due
    }
    let begin: Begin = state.withLock { state in
      if state.cancelled.contains(number) { return .cancelled }
      if sleeper.deadline <= state.now { return .due }
      state.sleepers[number] = sleeper
      return .sleeping(state.takeWatchers())
    }
    switch begin {
    case .sleeping(let watchers): for watcher in watchers { watcher.continuation.resume() }
    case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
    case .due: sleeper.continuation.resume()
    }
  }
}

extension ManualClock: TimerWatchingClock {
  package func pendingTimersDidChange(by difference: Int, at deadline: Instant) {
    let seen: [Watcher] = state.withLock { state in
      // A timer whose time has come is gone already.
      guard deadline > state.now else { return [] }
      let count = state.timers[deadline, default: 0] + difference
      state.timers[deadline] = count == 0 ? nil : count
      return state.takeWatchers()
    }
    for watcher in seen { watcher.continuation.resume() }
  }
}
