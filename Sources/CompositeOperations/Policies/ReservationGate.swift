import Foundation

/// A gate that waits until a reservation is granted or refused.
///
/// If the root of the gate's tree has a slot of a queue, other trees may use that slot meanwhile.
/// One of them may hold what this tree waits for, and may itself wait for a slot.
class ReservationGate: GateOperation, @unchecked Sendable {  // locked, or immutable
  private enum Wait {
    case new
    /// The wait has begun. If there is a pool, it may lend the slot of the root.
    case begun(QueuePool?)
    /// The reservation no longer waits, but the slot may still be lent.
    case ending
    case over
  }

  private let turn: GuardTurn
  private let wait = LockBox(Wait.new)

  init(_ turn: GuardTurn) {
    self.turn = turn
    super.init()
  }

  /// Arranges that ``pass()`` is called when the reservation no longer waits. Returns false if the
  /// reservation does not wait.
  func attach() -> Bool {
    preconditionFailure("abstract")
  }

  /// Removes the reservation from the line if it still waits. If it no longer waits and `isGranted`
  /// is true, gives back what it holds.
  func giveBack(isGranted: Bool) {
    preconditionFailure("abstract")
  }

  /// Settles the gate, depending on the state of the reservation.
  func conclude() {
    finish()
  }

  override final func main() {
    // The reservation leaves the line at once.
    turn.whenPointless { [weak self] in self?.giveUp() }
    begin()
    guard attach() else { return pass() }
    if isCancelled { giveUp() }
  }

  override final func didCancel() {
    giveUp()
  }

  private func begin() {
    let pool = turn.composition.environment.waitBegins()
    let isOver = wait.withLock { wait in
      guard case .new = wait else { return true }
      wait = .begun(pool)
      return false
    }
    if isOver { pool?.waitEnds {} }
  }

  private func giveUp() {
    let waits = wait.withLock { wait in
      switch wait {
      case .begun, .ending: true
      case .new, .over: false
      }
    }
    // The reservation may have been granted already: to a gate that has not been told yet, or that
    // waits for the slot it has lent. The operation has not used it.
    giveBack(isGranted: waits)
    end { [self] in finish() }
  }

  /// Called when the reservation no longer waits.
  final func pass() {
    end { [self] in conclude() }
  }

  /// Settles the gate now, or when the slot that the root has lent is returned. Only the first call
  /// has an effect.
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
