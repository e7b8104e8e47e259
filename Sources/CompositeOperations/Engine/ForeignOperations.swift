import Dispatch
import Foundation

/// Observes operations of types outside the package, whose end only Foundation reports.
///
/// A hidden operation that depends on the foreign one (at most one for each) runs when that has
/// finished. Each hidden operation waits in a queue of its own, because a queue scans all its
/// waiting operations whenever one of them changes. The queues share one dispatch queue, so they
/// cost little.
package enum ForeignOperations {
  private static let watchers = LockBox<[ObjectIdentifier: Watcher]>([:])
  private static let dispatchQueue = DispatchQueue(
    label: "CompositeOperations.foreign", attributes: .concurrent, autoreleaseFrequency: .workItem)

  /// Calls the observer on a Dispatch thread once the operation has finished, also if it already
  /// has.
  package static func observe(_ operation: Operation, _ observer: any SettlementObserver, tag: Int = 0) {
    let observation = Observation(observer: observer, tag: tag)
    let made: Watcher? = watchers.withLock { watchers in
      if let watcher = watchers[ObjectIdentifier(operation)] {
        watcher.observations.append(observation)
        return nil
      }
      let watcher = Watcher(operation, observation)
      watchers[ObjectIdentifier(operation)] = watcher
      return watcher
    }
    guard let made else { return }
    let queue = OperationQueue()
    queue.underlyingQueue = dispatchQueue
    made.addDependency(operation)
    queue.enter(made)
  }

  /// Removes an observer. Releases the operation, which may never finish, after the last one.
  static func stopObserving(_ operation: Operation, _ observer: any SettlementObserver) {
    let unneeded: Watcher? = watchers.withLock { watchers in
      guard let watcher = watchers[ObjectIdentifier(operation)] else { return nil }
      watcher.observations.removeAll { $0.observer === observer }
      guard watcher.observations.isEmpty else { return nil }
      watchers[ObjectIdentifier(operation)] = nil
      return watcher
    }
    unneeded?.cancel()
  }

  /// Runs when the foreign operation has finished, or after its last observer was removed.
  private final class Watcher: Operation, @unchecked Sendable {  // `observations` is guarded by the lock of `watchers`
    private let operation: Operation
    var observations: [Observation]

    init(_ operation: Operation, _ observation: Observation) {
      self.operation = operation
      self.observations = [observation]
    }

    // Not `main`, which a cancelled operation skips.
    override func start() {
      let observations = watchers.withLock { watchers in
        if watchers[ObjectIdentifier(operation)] === self { watchers[ObjectIdentifier(operation)] = nil }
        return self.observations
      }
      if isCancelled { leaveDependencies() }
      super.start()
      let context = ThreadContext.current
      for observation in observations { context.notify(observation, operation) }
    }
  }
}
