import Dispatch
import Foundation

// One timekeeper for each clock that can be recognized. Only pending timers, and operations that
// were made with the clock, keep the timekeeper alive, which keeps the clock.

extension Timekeeper {
  #if canImport(Darwin)
  private static let alarmQueue: DispatchQueue? = nil
  #else
  /// A serial queue gets a thread also while operations keep all processors busy. On Linux a sleep
  /// of a task ends on one of the default class, of which there is none left then, whatever the
  /// priority of the task.
  private static let alarmQueue: DispatchQueue? = DispatchQueue(label: "CompositeOperations.alarms")
  #endif

  private static let continuous = Timekeeper(clock: ContinuousClock(), keepsAlarms: true, alarmQueue: alarmQueue)
  private static let suspending = Timekeeper(clock: SuspendingClock(), keepsAlarms: true, alarmQueue: alarmQueue)
  private static let others = LockBox(TimekeeperTable())

  /// Returns the timekeeper of a clock, shared if the clock is one of the standard library, an
  /// object, or a value that is `Equatable` or has no state. Other values get a new one each time.
  package static func of<C: Clock>(_ clock: C) -> Timekeeper where C.Duration == Duration {
    if C.self == ContinuousClock.self { return continuous }
    if C.self == SuspendingClock.self { return suspending }
    guard canBeRecognised(C.self) else { return Timekeeper(clock: clock) }
    let key = C.self is AnyObject.Type ? ObjectIdentifier(clock as AnyObject) : ObjectIdentifier(C.self)
    var made: Timekeeper?
    while true {
      let (known, version) = others.withLock { ($0.keepers(for: key), $0.version) }
      // Comparing clocks may call user code.
      if let same = known.first(where: { $0.isFor(clock) }) { return same }
      let added = made ?? Timekeeper(clock: clock)
      made = added
      let (isAdded, alive) = others.withLock { $0.add(added, for: key, ifStill: version) }
      withExtendedLifetime(alive) {}
      if isAdded { return added }
    }
  }
}

/// The timekeepers that are alive.
private struct TimekeeperTable {
  private struct Entry {
    weak var keeper: Timekeeper?
  }

  private var entries: [ObjectIdentifier: [Entry]] = [:]
  private var sweepsAt = 16
  /// Changes whenever a timekeeper is added.
  private(set) var version = 0

  func keepers(for key: ObjectIdentifier) -> [Timekeeper] {
    entries[key]?.compactMap(\.keeper) ?? []
  }

  /// Adds a timekeeper if none was added since `version`. Also returns timekeepers to be released
  /// outside the lock.
  mutating func add(_ keeper: Timekeeper, for key: ObjectIdentifier, ifStill version: Int) -> (Bool, [Timekeeper]) {
    guard version == self.version else { return (false, []) }
    self.version += 1
    var alive = keepers(for: key)
    entries[key] = (alive + [keeper]).map { Entry(keeper: $0) }
    guard entries.count >= sweepsAt else { return (true, alive) }
    entries = entries.compactMapValues { entries in
      let keepers = entries.compactMap(\.keeper)
      alive += keepers
      return keepers.isEmpty ? nil : keepers.map { Entry(keeper: $0) }
    }
    sweepsAt = max(16, 2 * entries.count)
    return (true, alive)
  }
}
