import Foundation

/// The reservation of room in a limit for one operation.
final class LimitReservation: Reservation, @unchecked Sendable {  // guarded by the lock of the limit
  let limit: SharedLimit
  let weight: Int
  /// The number of the reservation in the limit's state. Set once, before another thread knows the
  /// reservation.
  var id = 0
  var standing = LimitState<LimitReservation>.Answer.waiting
  /// The gate to pass when the reservation no longer waits.
  var gate: LimitGate?

  init(in limit: SharedLimit, weight: Int, around: Reservation?) {
    self.limit = limit
    self.weight = weight
    super.init(around: around)
  }

  /// The number of the innermost reservation around this one in the same limit.
  var holderAround: Int? {
    for case let outer as LimitReservation in sequence(first: self as Reservation, next: { $0.around }).dropFirst()
    where outer.limit === limit { return outer.id }
    return nil
  }
}

/// A gate that waits until a limit has room for a reservation, or refuses it.
final class LimitGate: ReservationGate, @unchecked Sendable {  // immutable
  private let reservation: LimitReservation

  init(_ reservation: LimitReservation, _ turn: GuardTurn) {
    self.reservation = reservation
    super.init(turn)
  }

  override var purpose: String {
    "waits for \(reservation.limit.name.map { GateOperation.list([$0]) } ?? "a shared limit")"
  }

  override func attach() -> Bool {
    reservation.limit.attach(self, to: reservation) == .waiting
  }

  override func giveBack(isGranted: Bool) {
    if isGranted { reservation.limit.release(reservation) } else { reservation.limit.withdraw(reservation) }
  }
}
