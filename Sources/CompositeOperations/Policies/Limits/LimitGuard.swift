import Foundation

/// The guard of `limited`: an operation runs when a limit has room for it.
struct LimitGuard: OperationGuard {
  private let limit: SharedLimit
  private let weight: Int
  private var reservation: LimitReservation?

  init(by limit: SharedLimit, weight: Int) {
    require(
      weight > 0,
      "limited(by:weight:) was given a weight of \(weight), which is not positive. Use 1 or more.")
    self.limit = limit
    self.weight = weight
  }

  var kind: OperationKind { .limited }

  /// Gets in line inside `start()`, so that operations stand in line in the order of their starts.
  /// An operation that has to wait for a slot after that gets in line later, as with `exclusive`.
  mutating func arrive(_ turn: GuardTurn) {
    if turn.composition.environment.pool == nil { getInLine(turn) }
  }

  private mutating func getInLine(_ turn: GuardTurn) {
    let reservation = LimitReservation(in: limit, weight: weight, around: turn.composition.environment.held)
    self.reservation = reservation
    turn.composition.becomeHolder()
    limit.request(reservation, place: turn.place)
  }

  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made? {
    if reservation == nil { getInLine(turn) }
    guard let reservation else { return nil }
    switch limit.standing(of: reservation) {
    case .granted:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      turn.composition.environment.held = reservation
      return nil
    case .refused(let greatestWeight):
      let error = LimitError(
        operationDescription: OperationError.describe(turn.guarded, orNamed: turn.ownerName), limitName: limit.name,
        weight: weight, greatestWeight: greatestWeight, isLeftAlone: !turn.isOurs)
      return .settle(.failure(error))
    case .waiting:
      // The gate was cancelled.
      if previous != nil { return .settle(.cancelled) }
      return .run(ReservationGate(reservation, turn))
    }
  }

  mutating func isOver(in composition: Composition, _ verdict: Verdict) {
    if let reservation = reservation.take() { limit.release(reservation) }
  }
}
