import Foundation

// One timekeeper for each clock that can be recognised. A timer that is pending keeps its timekeeper, and that its
// clock; nothing else does, but the operations that were made with the clock.

extension Timekeeper {
  private static let continuous = Timekeeper(clock: ContinuousClock(), keepsAlarms: true)
  private static let suspending = Timekeeper(clock: SuspendingClock(), keepsAlarms: true)
  private static let others = LockBox(TimekeeperTable())

  /// The timekeeper of a clock: of the two in the standard library, of an object, of a value that is `Equatable` or has
  /// no state. Values that cannot be compared get one each time.
  package static func of<C: Clock>(_ clock: C) -> Timekeeper where C.Duration == Duration {
    if C.self == ContinuousClock.self { return continuous }
    if C.self == SuspendingClock.self { return suspending }
    guard canBeRecognised(C.self) else { return Timekeeper(clock: clock) }
    let key = C.self is AnyObject.Type ? ObjectIdentifier(clock as AnyObject) : ObjectIdentifier(C.self)
    var made: Timekeeper?
    while true {
      let (known, version) = others.withLock { ($0.keepers(for: key), $0.version) }
      // Comparing clocks may call the user's code.
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

  /// Adds a timekeeper if none was added since. Returns also some that may be released by that, outside the lock.
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
