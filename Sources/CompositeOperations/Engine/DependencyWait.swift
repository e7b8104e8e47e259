import Foundation

/// Waits until the unfinished dependencies of an operation have finished.
///
/// Counts them itself: what is in Foundation's lists costs every queue operation a scan.
final class DependencyWait: SettlementObserver {
  private struct State {
    /// One more than there are while they are being counted, so that nothing is met before all are observed.
    var remaining = 1
    /// Let go of once met, or cancelled: one that never finishes would keep us, and we it.
    var dependencies: [Operation]
    /// Nil once called, or cancelled.
    var whenMet: (@Sendable () -> Void)?
  }

  private let state: LockBox<State>

  /// - Parameter whenMet: called once, on the thread that settles the last dependency; or by ``begin()``, if that was
  ///   before. Not called any more after ``cancel()``.
  init(for operation: Operation, whenMet: @escaping @Sendable () -> Void) {
    state = LockBox(State(dependencies: operation.dependencies.filter { !$0.isFinished }, whenMet: whenMet))
  }

  /// Whether there is something to wait for.
  static func isNeeded(for operation: Operation) -> Bool {
    operation.dependencies.contains { !$0.isFinished }
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

  /// Forgets about it, and lets go of dependencies that may never finish.
  func cancel() {
    var whenMet: (@Sendable () -> Void)?  // released here, outside the lock
    let dependencies = state.withLock { state in
      swap(&whenMet, &state.whenMet)
      defer { state.dependencies = [] }
      return state.dependencies
    }
    stopObserving(dependencies)
  }

  private func stopObserving(_ dependencies: [Operation]) {
    for dependency in dependencies where !(dependency is SettlingOperation) {
      ForeignOperations.stopObserving(dependency, self)
    }
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    countDown()
  }

  private func countDown() {
    var whenMet: (@Sendable () -> Void)?
    state.withLock { state in
      state.remaining -= 1
      guard state.remaining == 0 else { return }
      swap(&whenMet, &state.whenMet)
    }
    whenMet?()
  }
}
