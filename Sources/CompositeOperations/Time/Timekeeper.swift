import Dispatch
package import Foundation

/// A clock of any type, and all timers that are set on it.
///
/// One task sleeps on the clock until the earliest deadline, however many timers there are; none
/// does if there is no timer. For the clocks of the standard library on Linux, where a task may get
/// no thread for long, a queue of Dispatch waits instead. Actions run on worker threads, because
/// they may call user code, which may block.
///
/// A cancelled sleep on a clock of the standard library ends, but the system keeps its memory until
/// the deadline. So no sleep is cancelled there: it serves later timers, and a few tasks may sleep
/// at once.
///
/// The clock's time decides, not the end of a sleep. A sleep that ends too early, or throws without
/// being cancelled, is repeated after a pause that grows from a millisecond to about a second. So a
/// clock whose `sleep` is broken does not keep a processor busy, and its timers are late by about a
/// second at most.
package final class Timekeeper: Sendable {
  /// A timer that was set.
  package struct Timer: Sendable {
    fileprivate let token: TimerState<Work>.Token
  }

  /// The action of a timer, and its urgency.
  fileprivate struct Work: Sendable {
    let deadline: Duration
    let qualityOfService: QualityOfService
    let action: Action
  }

  /// A time, counted from when the timekeeper was made.
  package struct Time: Sendable, Comparable {
    let offset: Duration

    func duration(to other: Time) -> Duration { other.offset - offset }

    package static func < (left: Time, right: Time) -> Bool { left.offset < right.offset }

    /// The time so much later. Durations that end after the longest time end then.
    package static func + (time: Time, delay: Duration) -> Time { Time(offset: time.offset + min(delay, longest)) }

    /// Longer than any program runs, and so short that sums are no overflow.
    static let longest = Duration.seconds(Int64.max)
  }

  package typealias Action = @Sendable () -> Void

  private struct State {
    var timers: TimerState<Work>
    /// The task that sleeps until the alarm, and the alarm's number; nil if alarms are kept,
    /// because their tasks are never cancelled.
    var sleeper: (task: Task<Void, Never>, number: Int)?
  }

  /// The longest single sleep: some clocks cannot represent the longest `Duration`.
  private static let longestSleep = Duration.seconds(365 * 24 * 3600)
  /// The longest that a queue waits: both of its timers are late where the machine was suspended,
  /// and the time of day set back.
  private static let longestWait = Duration.seconds(60)

  private let state: LockBox<State>
  /// The time since the timekeeper was made.
  private let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (_ until: Duration) async throws -> Void
  private let pause: @Sendable (Duration) async -> Void
  /// What waits for the alarms of a standard clock; nil if tasks sleep for them.
  private let alarmQueue: DispatchQueue?
  /// Notifies a test clock of the timers; nil for other clocks.
  private let tellOfTimers: (@Sendable (_ change: Int, _ deadline: Duration) -> Void)?
  /// The clock's instant at which the timekeeper was made.
  private let origin: any Sendable
  /// Whether a clock is the one that the timekeeper is for.
  let isFor: @Sendable (_ clock: any Sendable) -> Bool

  /// - Parameters:
  ///   - keepsAlarms: whether a task keeps sleeping, for later timers, when its timer is cancelled
  ///     or an earlier one is set.
  ///   - alarmQueue: waits for the alarms, which are kept, in place of tasks.
  ///   - pause: waits before a sleep that ended too early is repeated.
  init<C: Clock>(
    clock: C, keepsAlarms: Bool = false, alarmQueue: DispatchQueue? = nil,
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) where C.Duration == Duration {
    // A clock of the user sees no task-local values of an operation.
    let now: @Sendable () -> C.Instant = { OperationContext.bindNone { clock.now } }
    let origin = now()
    state = LockBox(State(timers: TimerState(keepsAlarms: keepsAlarms)))
    elapsed = { origin.duration(to: now()) }
    sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    isFor = { isSameClock($0, as: clock) }
    tellOfTimers = (clock as? any TimerWatchingClock).map { timerTelling($0, since: origin) }
    self.origin = origin
    self.alarmQueue = alarmQueue
    self.pause = pause
  }

  // MARK: - Timers

  /// Calls `action` on a worker thread after `delay`, once, unless the timer is cancelled before.
  ///
  /// - Parameter qualityOfService: that of the thread; on Linux it is always a high one.
  package func after(
    _ delay: Duration, qualityOfService: QualityOfService = .default, _ action: @escaping Action
  ) -> Timer {
    at(now + delay, qualityOfService: qualityOfService, action)
  }

  /// Calls `action` on a worker thread at a time, once, unless the timer is cancelled before.
  package func at(
    _ time: Time, qualityOfService: QualityOfService = .default, _ action: @escaping Action
  ) -> Timer {
    let work = Work(deadline: time.offset, qualityOfService: qualityOfService, action: action)
    // First, so that the clock does not hear of the removal before.
    tellOfTimers?(1, time.offset)
    let (token, alarm) = state.withLock { $0.timers.add(at: time.offset, work) }
    carryOut(alarm)
    return Timer(token: token)
  }

  /// Cancels a timer, and releases its action. Does nothing if it was due or cancelled before.
  package func cancel(_ timer: Timer) {
    let (work, alarm) = state.withLock { $0.timers.cancel(timer.token) }
    if let work { tellOfTimers?(-1, work.deadline) }
    carryOut(alarm)
  }

  /// The number of pending timers.
  package var pendingCount: Int { state.withLock { $0.timers.count } }

  // MARK: - Times

  /// The current time of the clock.
  package var now: Time { Time(offset: elapsed()) }

  /// Converts an instant of the clock.
  package func time<I: InstantProtocol>(of instant: I) -> Time where I.Duration == Duration {
    guard let origin = origin as? I else {
      preconditionFailure("An instant of type \(I.self) for a clock whose instants are \(type(of: origin))")
    }
    return Time(offset: origin.duration(to: instant))
  }

  /// Whether the clock has reached this time.
  package func hasPassed(_ time: Time) -> Bool { elapsed() >= time.offset }

  // MARK: - Alarm

  private func carryOut(_ alarm: TimerState<Work>.Alarm) {
    let unneeded: Task<Void, Never>?
    switch alarm {
    case .keep:
      return
    case .set(let deadline, let number):
      if let alarmQueue { return wait(until: deadline, number: number, on: alarmQueue) }
      // High priority: it is short, and a busy pool should not delay timeouts.
      let task = Task.detached(priority: .high) { [self] in await wake(at: deadline, number: number) }
      // A thread that set a later alarm may have been here first.
      unneeded = state.withLock { state in
        if state.timers.keepsAlarms { return nil }
        guard state.timers.isCurrent(alarm: number) else { return task }
        defer { state.sleeper = (task, number) }
        return state.sleeper?.task
      }
    case .forget:
      unneeded = state.withLock { state in
        guard let sleeper = state.sleeper, !state.timers.isCurrent(alarm: sleeper.number) else { return nil }
        state.sleeper = nil
        return sleeper.task
      }
    }
    unneeded?.cancel()
  }

  private func wake(at deadline: Duration, number: Int) async {
    var failures = 0
    while true {
      let now = elapsed()
      guard now < deadline else { break }
      let end = min(deadline, now + Self.longestSleep)
      try? await sleep(end)
      guard isNeeded(alarm: number) else { return }
      if elapsed() < end {
        await pause(.milliseconds(1 << min(failures, 10)))
        guard isNeeded(alarm: number) else { return }
        failures += 1
      } else {
        failures = 0
      }
    }
    ring(number)
  }

  private func wait(until deadline: Duration, number: Int, on queue: DispatchQueue) {
    let wait = min(max(deadline - elapsed(), .zero), Self.longestWait)
    let pause = DispatchTimeInterval.nanoseconds(Int(wait / .nanoseconds(1)) + 1)
    // The first of the two counts. One leaves out the time in which the machine is suspended, the
    // other goes wrong where the time of day is set. An alarm that rings too early is set again.
    queue.asyncAfter(deadline: .now() + pause) { [self] in ring(number) }
    queue.asyncAfter(wallDeadline: .now() + pause) { [self] in ring(number) }
  }

  private func ring(_ number: Int) {
    let now = elapsed()
    let (due, alarm) = state.withLock { $0.timers.due(at: now, alarm: number) }
    if let tellOfTimers { for work in due { tellOfTimers(-1, work.deadline) } }
    carryOut(alarm)
    for work in due { Threads.later(on: work.qualityOfService.promptQueue, work.action) }
  }

  private func isNeeded(alarm number: Int) -> Bool {
    !Task.isCancelled && state.withLock { $0.timers.isCurrent(alarm: number) }
  }
}

/// A clock that is notified of all pending timers, not only of the one that a task sleeps for.
package protocol TimerWatchingClock: Clock where Duration == Swift.Duration {
  /// Called when a timer for this instant was added or removed.
  func pendingTimersDidChange(by difference: Int, at deadline: Instant)
}

private func timerTelling<C: TimerWatchingClock>(
  _ clock: C, since origin: Any
) -> @Sendable (_ change: Int, _ deadline: Duration) -> Void {
  guard let origin = origin as? C.Instant else { preconditionFailure("An instant of another clock than \(clock)") }
  return { change, deadline in clock.pendingTimersDidChange(by: change, at: origin.advanced(by: deadline)) }
}

/// Whether two clocks of a type can be recognized as the same.
func canBeRecognised<C: Clock>(_ type: C.Type) -> Bool {
  type is AnyObject.Type || type is any Equatable.Type || MemoryLayout<C>.size == 0
}

/// Whether timers of the two clocks may share a heap: they are one object, equal values, or values
/// without state.
private func isSameClock<C: Clock>(_ other: any Sendable, as clock: C) -> Bool {
  guard let other = other as? C else { return false }
  if C.self is AnyObject.Type { return other as AnyObject === clock as AnyObject }
  if let clock = clock as? any Equatable { return isEqual(clock, other) }
  return MemoryLayout<C>.size == 0
}

private func isEqual<T: Equatable>(_ value: T, _ other: Any) -> Bool { value == other as? T }
