import Foundation

/// The reservation of room in a limit for one operation.
final class LimitReservation: Reservation, WaitingReservation, @unchecked Sendable {  // locked
  let limit: SharedLimit
  let weight: Int
  /// The number of the reservation in the limit's state. Set once, before another thread knows the
  /// reservation.
  var id = 0
  var standing = LimitState<LimitReservation>.Answer.waiting
  /// The gate to pass when the reservation no longer waits.
  var gate: ReservationGate?

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

  var purpose: String { "waits for \(limit.name.map { GateOperation.list([$0]) } ?? "a shared limit")" }

  func attach(_ gate: ReservationGate) -> Bool { limit.attach(gate, to: self) == .waiting }

  func giveBack(isGranted: Bool) {
    if isGranted { limit.release(self) } else { limit.withdraw(self) }
  }

  /// Nil: the guard asks for the standing again.
  var refusal: (any Error)? { nil }
}
