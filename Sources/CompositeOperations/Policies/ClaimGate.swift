import Foundation

/// Waits until a claim is granted, or refused.
///
/// If the root of its tree has a slot of a queue, other trees may use that meanwhile: one of them may hold what this one waits
/// for, and wait for a slot itself.
class ClaimGate: GateOperation, @unchecked Sendable {  // locked, or immutable
  private enum Wait {
    case new
    /// The pool, if there is one, knows of it, and may lend the slot of the root.
    case begun(QueuePool?)
    /// It need no longer wait, but the slot may still be lent.
    case ending
    case over
  }

  private let environment: ExecutionEnvironment
  private let guarded: Operation?
  private let wait = LockBox(Wait.new)

  /// - Parameters:
  ///   - guarded: an operation of the composition's that the claim is for. If that is cancelled, the claim leaves the line
  ///     at once.
  ///   - environment: of the composition.
  init(for guarded: Operation?, in environment: ExecutionEnvironment) {
    self.guarded = guarded
    self.environment = environment
    super.init()
  }

  /// Has ``pass()`` called when the claim waits no more. False if it does not wait now.
  func attach() -> Bool {
    preconditionFailure("abstract")
  }

  /// The claim leaves the line at once; and if it no longer waits, gives back what it got, if `isGranted`.
  func giveBack(isGranted: Bool) {
    preconditionFailure("abstract")
  }

  /// Settles the gate as the claim stands.
  func conclude() {
    finish()
  }

  override final func main() {
    if let guarded { pass(whenDecided: guarded) { [weak self] in self?.giveUp() } }
    begin()
    guard attach() else { return pass() }
    if isCancelled { giveUp() }
  }

  override final func didCancel() {
    giveUp()
  }

  private func begin() {
    let pool = environment.waitBegins()
    let isOver = wait.withLock { wait in
      guard case .new = wait else { return true }
      wait = .begun(pool)
      return false
    }
    if isOver { pool?.waitEnds {} }
  }

  private func giveUp() {
    let isEnding = wait.withLock { wait in
      if case .ending = wait { return true }
      return false
    }
    // Granted while its slot is lent, it has not used it.
    giveBack(isGranted: isEnding)
    end { [self] in finish() }
  }

  /// The claim no longer waits.
  final func pass() {
    end { [self] in conclude() }
  }

  /// Settles the gate: now, or, if its root has lent its slot, when that is back. Only the first call counts.
  private func end(_ settle: @escaping @Sendable () -> Void) {
    let last = wait.withLock { wait in
      let last = wait
      switch wait {
      case .new: wait = .over
      case .begun: wait = .ending
      case .ending, .over: break
      }
      return last
    }
    switch last {
    case .new: settle()
    case .begun(let pool):
      let settleOnce: @Sendable () -> Void = { [self] in
        wait.withLock { $0 = .over }
        settle()
      }
      if let pool { pool.waitEnds(settleOnce) } else { settleOnce() }
    case .ending, .over: break
    }
  }
}
