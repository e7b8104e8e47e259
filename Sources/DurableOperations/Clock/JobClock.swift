import CompositeOperations
public import Foundation

/// What a queue takes the time from: the date, which jobs are scheduled by, and a clock that timers run on.
public struct JobClock: Sendable {
  let now: @Sendable () -> Date
  /// The time since a moment that does not change when the date is set anew.
  let uptime: @Sendable () -> Duration
  /// What that moment is known by: the start of the machine. Empty if that could not be read.
  let bootID: String
  let timekeeper: Timekeeper
  /// Whether the date is that of the machine. A server's own counts instead then.
  let isMachines: Bool

  /// The machine's.
  public static let system = JobClock(
    now: { Date() }, uptime: { MachineClock.uptime },
    // The time since the start is another in each time namespace.
    bootID: ProcessIdentity.current.bootID.isEmpty
      ? "" : "\(ProcessIdentity.current.bootID) \(ProcessIdentity.current.pidNamespace ?? "")",
    timekeeper: .of(ContinuousClock()), isMachines: true)

  /// A clock of your own: for tests, with a `ManualClock`. Each is taken for that of a machine of its own: that it was set
  /// anew is noticed by queues that share it, not by those that are given another.
  ///
  /// - Parameters:
  ///   - clock: what timers run on. Kept.
  ///   - now: the date; nil for one that begins at `start` and goes on as `clock` does.
  ///   - start: the date when this is called.
  public init<C: Clock>(
    _ clock: C, startingAt start: Date = Date(), now: (@Sendable () -> Date)? = nil
  ) where C.Duration == Duration {
    let origin = clock.now
    let elapsed: @Sendable () -> Duration = { origin.duration(to: clock.now) }
    self.now = now ?? { start.addingTimeInterval(elapsed() / .seconds(1)) }
    uptime = elapsed
    bootID = UUID().uuidString
    timekeeper = .of(clock)
    isMachines = false
  }

  /// The machine's, whose date is set by a program of the tests.
  package static func system(settingDateBy now: @escaping @Sendable (Date) -> Date) -> JobClock {
    JobClock(
      now: { now(Date()) }, uptime: system.uptime, bootID: system.bootID, timekeeper: system.timekeeper,
      isMachines: true)
  }

  private init(
    now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Duration, bootID: String,
    timekeeper: Timekeeper, isMachines: Bool
  ) {
    self.now = now
    self.uptime = uptime
    self.bootID = bootID
    self.timekeeper = timekeeper
    self.isMachines = isMachines
  }

  /// The date in milliseconds since 1970.
  var milliseconds: Int64 { now().milliseconds }

  /// What the date is ahead of the time since the start: another one when the date was set anew.
  var offset: Int64 { milliseconds - uptime().milliseconds }
}

/// The time since the machine was started, also while it slept.
enum MachineClock {
  static var uptime: Duration {
    var time = timespec()
    #if canImport(Darwin)
    clock_gettime(CLOCK_MONOTONIC, &time)
    #else
    clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }
}
