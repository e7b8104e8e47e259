import Foundation

/// What a ``ReservationGate`` waits for.
protocol WaitingReservation: AnyObject, Sendable {
  /// What the gate waits for, in words.
  var purpose: String { get }

  /// Keeps the gate, to call `pass()` when the reservation no longer waits. Returns false if the
  /// reservation does not wait.
  func attach(_ gate: ReservationGate) -> Bool

  /// Removes the reservation from the line if it still waits. If it no longer waits and `isGranted`
  /// is true, gives back what it holds.
  func giveBack(isGranted: Bool)

  /// Why the reservation was refused while it waited; nil if the gate lets pass.
  var refusal: (any Error)? { get }
}

/// A gate that waits until a reservation is granted or refused.
///
/// If the root of the gate's tree has a slot of a queue, other trees may use that slot meanwhile.
/// One of them may hold what this tree waits for, and may itself wait for a slot.
final class ReservationGate: GateOperation, @unchecked Sendable {  // locked, or immutable
  private enum Wait {
    case new
    /// The wait has begun. If there is a pool, it may lend the slot of the root.
    case begun(QueuePool?)
    /// The reservation no longer waits, but the slot may still be lent.
    case ending
    case over
  }

  private let reservation: any WaitingReservation
  private let turn: GuardTurn
  private let wait = LockBox(Wait.new)

  init(_ reservation: any WaitingReservation, _ turn: GuardTurn) {
    self.reservation = reservation
    self.turn = turn
    super.init()
  }

  override var purpose: String { reservation.purpose }

  override func main() {
    // The reservation leaves the line at once.
    turn.whenPointless { [weak self] in self?.giveUp() }
    begin()
    guard reservation.attach(self) else { return pass() }
    if isCancelled { giveUp() }
  }

  override func didCancel() {
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
    reservation.giveBack(isGranted: waits)
    end { [self] in finish() }
  }

  /// Called when the reservation no longer waits.
  func pass() {
    end { [self] in if let error = reservation.refusal { reject(with: error) } else { finish() } }
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
