import Foundation

/// A clock, whichever it is, and all timers that are set on it.
///
/// One task sleeps on the clock until the earliest deadline, however many timers there are, and none if there is no
/// timer. What is due runs on worker threads of Dispatch, for it may call code of the user's, which may block.
///
/// There is one for each clock that can be recognised: the two of the standard library, objects, and values that are
/// `Hashable`. A timer that is pending keeps its timekeeper, and the timekeeper its clock.
package final class Timekeeper: Sendable {
  /// A timer that was set.
  package struct Timer: Sendable {
    fileprivate let token: TimerState<Action>.Token
  }

  package typealias Action = @Sendable () -> Void

  private struct State {
    var timers: TimerState<Action>
    /// The task that sleeps until the alarm, and the number of that.
    var sleeper: (task: Task<Void, Never>, number: Int)?
  }

  /// The longest sleep that a clock is asked for: some can not count to the end of a `Duration`.
  private static let longestSleep = Duration.seconds(365 * 24 * 3600)

  private let state: LockBox<State>
  /// The time since the timekeeper was made.
  private let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (_ until: Duration) async throws -> Void

  fileprivate init<C: Clock>(clock: C, isSystemClock: Bool) where C.Duration == Duration {
    let origin = clock.now
    state = LockBox(State(timers: TimerState(keepsAlarm: isSystemClock)))
    elapsed = { origin.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    self.origin = origin
  }

  /// The clock's instant at which the timekeeper was made.
  fileprivate let origin: any Sendable

  // MARK: - Timers

  /// Has `action` called on a worker thread after `delay`, once, unless the timer is cancelled before.
  package func after(_ delay: Duration, _ action: @escaping Action) -> Timer {
    set(at: elapsed() + delay, action)
  }

  fileprivate func set(at deadline: Duration, _ action: @escaping Action) -> Timer {
    let (token, alarm) = state.withLock { $0.timers.add(at: deadline, action) }
    carryOut(alarm)
    return Timer(token: token)
  }

  /// Forgets a timer, and releases its action. One that is due, or was cancelled, is left as it is.
  package func cancel(_ timer: Timer) {
    let (action, alarm) = state.withLock { $0.timers.cancel(timer.token) }
    carryOut(alarm)
    withExtendedLifetime(action) {}
  }

  /// How many timers are pending.
  package var pendingCount: Int { state.withLock { $0.timers.count } }

  // MARK: - Alarm

  private func carryOut(_ alarm: TimerState<Action>.Alarm) {
    switch alarm {
    case .keep:
      break
    case .set(let deadline, let number):
      // Urgent, for it is short, and whoever keeps the pool busy should not make timeouts late.
      let task = Task.detached(priority: .high) { [self] in await wake(at: deadline, number: number) }
      // Whoever set a later alarm may have been here first.
      let unneeded: Task<Void, Never>? = state.withLock { state in
        guard state.timers.isCurrent(alarm: number) else { return task }
        defer { state.sleeper = (task, number) }
        return state.sleeper?.task
      }
      unneeded?.cancel()
    case .forget:
      let unneeded: Task<Void, Never>? = state.withLock { state in
        guard let sleeper = state.sleeper, !state.timers.isCurrent(alarm: sleeper.number) else { return nil }
        state.sleeper = nil
        return sleeper.task
      }
      unneeded?.cancel()
    }
  }

  private func wake(at deadline: Duration, number: Int) async {
    while true {
      let now = elapsed()
      guard now < deadline else { break }
      do {
        try await sleep(min(deadline, now + Self.longestSleep))
      } catch {
        // Cancelled, for another alarm was set. A clock that fails by itself is taken at its word when it says the time.
        guard !Task.isCancelled, state.withLock({ $0.timers.isCurrent(alarm: number) }) else { return }
        await Task.yield()
      }
    }
    let now = elapsed()
    let (actions, alarm) = state.withLock { $0.timers.due(at: now, alarm: number) }
    carryOut(alarm)
    for action in actions { Workers.later(qualityOfService: .default, action) }
  }
}

extension Timekeeper {
  /// Has `action` called at an instant of the clock that the timekeeper is for.
  package func at<I: InstantProtocol>(_ deadline: I, _ action: @escaping Action) -> Timer where I.Duration == Duration {
    guard let origin = origin as? I else {
      preconditionFailure("A deadline of type \(I.self) for a clock whose instants are \(type(of: origin))")
    }
    return set(at: origin.duration(to: deadline), action)
  }
}

// MARK: - One for each clock

extension Timekeeper {
  private static let continuous = Timekeeper(clock: ContinuousClock(), isSystemClock: true)
  private static let suspending = Timekeeper(clock: SuspendingClock(), isSystemClock: true)
  private static let others = LockBox<[AnyHashable: Entry]>([:])

  private struct Entry {
    weak var timekeeper: Timekeeper?
  }

  /// The timekeeper of a clock.
  package static func of<C: Clock>(_ clock: C) -> Timekeeper where C.Duration == Duration {
    if C.self == ContinuousClock.self { return continuous }
    if C.self == SuspendingClock.self { return suspending }
    let made = Timekeeper(clock: clock, isSystemClock: false)
    guard let key = identity(of: clock) else { return made }
    return others.withLock { others in
      if let known = others[key]?.timekeeper { return known }
      if others.count >= 16 { others = others.filter { $0.value.timekeeper != nil } }
      others[key] = Entry(timekeeper: made)
      return made
    }
  }

  /// What tells a clock from others: as long as a timekeeper lives, so does its clock.
  private static func identity<C: Clock>(of clock: C) -> AnyHashable? {
    if C.self is AnyObject.Type { return AnyHashable(ObjectIdentifier(clock as AnyObject)) }
    return (clock as? any Hashable).map { AnyHashable($0) }
  }
}
