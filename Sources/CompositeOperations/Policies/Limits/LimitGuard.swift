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
  mutating func arrive(in source: GuardSource, for guarded: Operation) {
    if source.environment.pool == nil { getInLine(in: source) }
  }

  private mutating func getInLine(in source: GuardSource) {
    let reservation = LimitReservation(in: limit, weight: weight, around: source.environment.held)
    self.reservation = reservation
    source.becomeHolder()
    limit.request(reservation, place: source.ownPlace)
  }

  mutating func next(in source: GuardSource, for guarded: Operation, after previous: Operation?) -> WorkSource.Made? {
    if reservation == nil { getInLine(in: source) }
    guard let reservation else { return nil }
    switch limit.standing(of: reservation) {
    case .granted:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      source.environment.held = reservation
      return nil
    case .refused(let greatestWeight):
      let error = LimitError(
        operationDescription: OperationError.describe(guarded, orNamed: source.ownerName), limitName: limit.name,
        weight: weight, greatestWeight: greatestWeight, isLeftAlone: !source.isOurs)
      return .settle(.failure(error))
    case .waiting:
      // The gate was cancelled.
      if previous != nil { return .settle(.cancelled) }
      return .run(LimitGate(reservation, for: source.isOurs ? guarded : nil, in: source.environment))
    }
  }

  mutating func isOver(in source: GuardSource, _ verdict: Verdict) {
    if let reservation = reservation.take() { limit.release(reservation) }
  }
}
