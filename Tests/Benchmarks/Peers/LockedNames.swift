import Synchronization

/// The least that keeps two users of a name apart: a set of taken names behind a lock. There is no
/// way to wait for a name.
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
