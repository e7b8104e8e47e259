import Foundation

/// Waits until the unfinished dependencies of an operation have finished.
///
/// Counts them itself: what is in Foundation's lists costs every queue operation a scan.
final class DependencyWait: SettlementObserver {
  private struct State {
    /// One more than there are while they are being counted, so that nothing is met before all are observed.
    var remaining = 1
    /// Nil once called, or cancelled.
    var whenMet: (@Sendable () -> Void)?
  }

  private let state: LockBox<State>
  private let dependencies: [Operation]

  /// - Parameter whenMet: called once, on the thread that settles the last dependency; or by ``begin()``, if that was
  ///   before. Not called any more after ``cancel()``.
  init(for operation: Operation, whenMet: @escaping @Sendable () -> Void) {
    dependencies = operation.dependencies.filter { !$0.isFinished }
    state = LockBox(State(whenMet: whenMet))
  }

  /// Whether there is something to wait for.
  static func isNeeded(for operation: Operation) -> Bool {
    operation.dependencies.contains { !$0.isFinished }
  }

  func begin() {
    for dependency in dependencies {
      state.withLock { $0.remaining += 1 }
      if let dependency = dependency as? SettlingOperation {
        if !dependency.observe(self) { countDown() }
      } else {
        ForeignOperations.observe(dependency, self)
      }
    }
    countDown()
    if state.withLock({ $0.whenMet == nil }) { stopObserving() }
  }

  /// Forgets about it, and lets go of dependencies that may never finish.
  func cancel() {
    let whenMet = state.withLock { $0.whenMet.take() }
    withExtendedLifetime(whenMet) {}  // released here, outside the lock
    stopObserving()
  }

  private func stopObserving() {
    for dependency in dependencies where !(dependency is SettlingOperation) {
      ForeignOperations.stopObserving(dependency, self)
    }
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    countDown()
  }

  private func countDown() {
    let whenMet: (@Sendable () -> Void)? = state.withLock { state in
      state.remaining -= 1
      return state.remaining == 0 ? state.whenMet.take() : nil
    }
    whenMet?()
  }
}
