import CompositeOperations
import Foundation

/// The running children of a composition, to be drawn.
final class TerminalWatch: CompositionMonitor {
  private struct Child {
    let operation: Operation
    let started: Duration
    let watch: TerminalWatch?
  }

  private struct State {
    var running: [Int: Child] = [:]
    var settledCount = 0
    /// While the watch begins: the children that it was told to have settled.
    private var told: Set<Int>? = []
    /// The children that it found settled. Some of them may be told later.
    private var found: Set<Int> = []
    /// The same of a sequence: the number of the last one, of which the first is 1.
    private var pastCount = 0

    mutating func settled(_ tag: Int) {
      told?.insert(tag)
      if !isPast(tag), !found.contains(tag) { settledCount += 1 }
    }

    /// Counts each child once that was told or found.
    mutating func begin(found: Set<Int>, pastCount: Int) {
      self.found = found
      self.pastCount = pastCount
      settledCount = pastCount + found.union(told ?? []).count { !isPast($0) }
      told = nil
    }

    private func isPast(_ tag: Int) -> Bool { pastCount > 0 && tag <= pastCount }
  }

  private let now: @Sendable () -> Duration
  private let state = LockBox(State())

  /// - Parameter now: the time since some moment.
  init(_ composition: Composition, now: @escaping @Sendable () -> Duration) {
    self.now = now
    watch(composition)
  }

  private init(now: @escaping @Sendable () -> Duration) {
    self.now = now
  }

  /// Starts to watch a composition, and those that run in it. In a loop, for nesting may be deep.
  private func watch(_ composition: Composition) {
    var pending = [(watch: self, composition: composition)]
    while let (watch, composition) = pending.popLast() {
      composition.addMonitor(watch, isInherited: false)
      var settled: Set<Int> = []
      composition.forEachChild { child, tag in
        // Also one whose completion still runs: it may not be told later.
        if child.isFinished || (child as? SettlingOperation)?.hasOutcome == true {
          settled.insert(tag)
        } else if child.isExecuting, let inner = watch.add(child, tag) {
          pending.append(inner)
        }
      }
      // After the children, so that none is missed that is let go meanwhile.
      let (found, pastCount) = (settled.union(composition.pastTags), composition.pastCount)
      watch.state.withLock { $0.begin(found: found, pastCount: pastCount) }
    }
  }

  /// Adds a child. Returns a watch for it if it is a composition, which it does not watch yet.
  private func add(_ child: Operation, _ tag: Int) -> (watch: TerminalWatch, composition: Composition)? {
    let isNew = state.withLock { $0.running[tag] == nil }
    guard isNew else { return nil }
    let own = child as? SettlingOperation
    let inner = own?.composition.map { (watch: TerminalWatch(now: now), composition: $0) }
    let entry = Child(operation: child, started: now(), watch: inner?.watch)
    state.withLock { $0.running[tag] = entry }
    if child.isFinished || own?.hasOutcome == true { remove(tag) }
    return inner
  }

  private func remove(_ tag: Int) {
    let removed = state.withLock { $0.running.removeValue(forKey: tag) }
    withExtendedLifetime(removed) {}
  }

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {}

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {
    if let inner = add(child, tag) { inner.watch.watch(inner.composition) }
  }

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {
    state.withLock { $0.settled(tag) }
    remove(tag)
  }

  // MARK: - Rows

  /// One operation to show.
  struct Item {
    let operation: Operation
    let title: String?
    let started: Duration?
    let watch: TerminalWatch?
    var depth: Int
    /// The title of the policy around it, which is that of the operation if the policy has none.
    var titleAround: String?

    /// Its name. A policy or a `map` without a name of its own is left out, unless it waits for
    /// something.
    var name: String? {
      guard let own = operation as? SettlingOperation else { return operation.name }
      if let name = own.givenName { return name }
      guard let waits = watch?.items, !waits.isEmpty,
        waits.allSatisfy({ ($0.operation as? SettlingOperation)?.isGate == true })
      else {
        return nil
      }
      return own.name
    }
  }

  private var items: [Item] {
    // Inside the lock: ThreadSanitizer reports a race if a copy that shares the storage leaves it.
    state.withLock { state in
      state.running.sorted { $0.key < $1.key }.map { _, child in
        Item(operation: child.operation, title: nil, started: child.started, watch: child.watch, depth: 0)
      }
    }
  }

  /// The given operations and those that run inside, in at most `limit` rows. Compositions without
  /// a name are left out, and what they run takes their place.
  static func snapshot(of roots: [Item], limit: Int, tick: Int, now: Duration) -> TerminalSnapshot {
    var snapshot = TerminalSnapshot(tick: tick)
    var pending = Array(roots.reversed())
    while let item = pending.popLast() {
      let title = item.title ?? item.name.flatMap { $0.isEmpty ? nil : $0 }
      var depth = item.depth
      if title != nil && title != item.titleAround || item.watch == nil && title == nil {
        depth += 1
        if snapshot.rows.count < limit {
          snapshot.rows.append(row(of: item, title: title ?? typeName(of: item.operation), now: now))
        } else {
          snapshot.hiddenCount += 1
        }
      }
      for var child in item.watch?.items.reversed() ?? [] {
        child.depth = depth
        if (item.operation as? SettlingOperation)?.form != nil { child.titleAround = title ?? item.titleAround }
        pending.append(child)
      }
    }
    return snapshot
  }

  /// The title of an operation without a name.
  static func typeName(of operation: Operation) -> String {
    (operation as? SettlingOperation).map { type(of: $0).typeDescription } ?? "\(type(of: operation))"
  }

  private static func row(of item: Item, title: String, now: Duration) -> TerminalSnapshot.Row {
    let own = item.operation as? SettlingOperation
    var row = TerminalSnapshot.Row(depth: item.depth, title: title)
    row.elapsed = item.started.map { now - $0 }
    if let own, !own.isProgressIndeterminate { row.fraction = own.fractionCompleted }
    let settledCount = item.watch?.state.withLock { $0.settledCount } ?? 0
    if let counts = own?.composition?.childCounts(settled: settledCount) {
      row.counts = .init(done: counts.done, total: counts.total)
    }
    return row
  }
}
