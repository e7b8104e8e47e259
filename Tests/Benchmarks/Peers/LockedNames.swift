import Synchronization

/// The least that keeps two users of a name apart: it is in a set, behind a lock, as long as one has it. Nobody can wait for it.
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
