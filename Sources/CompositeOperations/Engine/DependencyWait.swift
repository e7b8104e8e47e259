import Foundation

/// Waits until the unfinished dependencies of an operation have finished.
///
/// It counts them itself: Foundation scans its dependency lists on each operation of a queue.
final class DependencyWait: SettlementObserver {
  private struct State {
    /// Begins at one, so that the wait cannot end before all dependencies are observed.
    var remaining = 1
    /// Released once met or cancelled: a dependency that never finishes would form a retain cycle
    /// with this.
    var dependencies: [Operation]
    /// The operation that waits, from which dependencies may be removed meanwhile.
    var operation: SettlingOperation?
    /// Nil once called or cancelled.
    var whenMet: (@Sendable () -> Void)?
  }

  private let state: LockBox<State>

  /// - Parameter whenMet: called once: on the thread that settles the last dependency, or by
  ///   ``begin()`` if all have finished by then. Not called after ``cancel()``.
  init(for operation: Operation, whenMet: @escaping @Sendable () -> Void) {
    state = LockBox(
      State(
        dependencies: operation.dependencies.filter { !$0.isFinished }, operation: operation as? SettlingOperation,
        whenMet: whenMet))
  }

  /// Waits until `operation` has settled.
  init(untilSettled operation: Operation, whenMet: @escaping @Sendable () -> Void) {
    state = LockBox(State(dependencies: [operation], whenMet: whenMet))
  }

  /// Whether there is something to wait for. A composition that waits for an operation inside it is
  /// started, and fails.
  static func isNeeded(for operation: Operation) -> Bool {
    guard operation.dependencies.contains(where: { !$0.isFinished }) else { return false }
    guard let own = operation as? SettlingOperation else { return true }
    return own.compositionBase?.content(awaitedBy: own) == nil
  }

  func begin() {
    let dependencies = state.withLock { state in
      state.remaining += state.dependencies.count
      return state.dependencies
    }
    for dependency in dependencies {
      if let dependency = dependency as? SettlingOperation {
        if !dependency.observe(self) { countDown() }
      } else {
        ForeignOperations.observe(dependency, self)
      }
    }
    countDown()
    if state.withLock({ $0.whenMet == nil }) { stopObserving(dependencies) }
  }

  /// Stops waiting, and releases the dependencies, which may never finish.
  func cancel() {
    _ = end()
  }

  /// Returns what to call, if the wait had not ended. All is released outside the lock.
  private func end() -> (@Sendable () -> Void)? {
    var ended = State(dependencies: [])
    state.withLock { state in
      // Not `swap`, which would wrap the closure.
      (ended.dependencies, ended.operation, ended.whenMet) = (state.dependencies, state.operation, state.whenMet)
      (state.dependencies, state.operation, state.whenMet) = ([], nil, nil)
    }
    stopObserving(ended.dependencies)
    return ended.whenMet
  }

  private func stopObserving(_ dependencies: [Operation]) {
    for dependency in dependencies where !(dependency is SettlingOperation) {
      ForeignOperations.stopObserving(dependency, self)
    }
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    countDown()
    // Those that are left may have been removed.
    guard let waiting = state.withLock({ $0.whenMet == nil ? nil : $0.operation }), waiting.awaitsNothingMore else {
      return
    }
    end()?()
  }

  private func countDown() {
    let isMet = state.withLock { state in
      state.remaining -= 1
      return state.remaining == 0
    }
    if isMet { end()?() }
  }
}
