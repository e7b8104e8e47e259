import CompositeOperations
public import Foundation

/// The source of time of a queue: the date, by which jobs are scheduled, and a clock for timers.
public struct JobClock: Sendable {
  let now: @Sendable () -> Date
  /// The time since a moment that setting the date does not change.
  let uptime: @Sendable () -> Duration
  /// The identity of that moment: the start of the machine. Empty if it could not be read.
  let bootID: String
  let timekeeper: Timekeeper
  /// Whether the date is the machine's. A server's own date replaces it.
  let isMachines: Bool

  /// The machine's clock.
  public static let system = JobClock(
    now: { Date() }, uptime: { MachineClock.uptime },
    // The time since the start differs between time namespaces.
    bootID: ProcessIdentity.current.bootID.isEmpty
      ? "" : "\(ProcessIdentity.current.bootID) \(ProcessIdentity.current.pidNamespace ?? "")",
    timekeeper: .of(ContinuousClock()), isMachines: true)

  /// Makes a clock of your own: for tests, with a `ManualClock`.
  ///
  /// Each such clock stands for a machine of its own: only queues that share the clock notice that
  /// its date was set.
  ///
  /// - Parameters:
  ///   - clock: the clock for timers. Kept.
  ///   - now: the date; nil for one that begins at `start` and goes on as `clock` does.
  ///   - start: the date at the time of this call.
  public init<C: Clock>(
    _ clock: C, startingAt start: Date = Date(), now: (@Sendable () -> Date)? = nil
  ) where C.Duration == Duration {
    // The clock and the date see no task-local values of who asks.
    let instant: @Sendable () -> C.Instant = { OperationContext.bindNone { clock.now } }
    let origin = instant()
    let elapsed: @Sendable () -> Duration = { origin.duration(to: instant()) }
    let date = now ?? { start.addingTimeInterval(elapsed() / .seconds(1)) }
    self.now = { OperationContext.bindNone(date) }
    uptime = elapsed
    bootID = UUID().uuidString
    timekeeper = .of(clock)
    isMachines = false
  }

  /// The machine's clock, with a date that a test program sets.
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

  /// How far the date is ahead of the time since the start. It changes when the date is set.
  var offset: Int64 { milliseconds - uptime().milliseconds }
}

/// The time since the machine started, including the time it slept.
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
