import Synchronization

/// The minimal mutual exclusion by name: a set of taken names behind a lock, without waiting.
final class LockedNames: Sendable {
  private let taken = Mutex<Set<String>>([])

  func takeAndRelease(_ names: [String]) {
    taken.withLock { taken in
      for name in names { precondition(taken.insert(name).inserted) }
    }
    taken.withLock { taken in
      for name in names { precondition(taken.remove(name) != nil) }
    }
  }
}
