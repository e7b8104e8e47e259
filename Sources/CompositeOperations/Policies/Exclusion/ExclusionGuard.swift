import Foundation

/// The guard of `exclusive`: an operation runs while it holds categories.
struct ExclusionGuard: OperationGuard {
  private let categories: [ExclusionCategory]
  private let registry: ExclusionRegistry
  private var reservation: ExclusionReservation?

  init(_ categories: [ExclusionCategory], in registry: ExclusionRegistry) {
    self.categories = categories
    self.registry = registry
  }

  var kind: OperationKind { .exclusive }

  /// Gets in line inside `start()`, so that operations stand in line in the order of their starts.
  /// An operation that has to wait for a slot after that gets in line later. Otherwise operations
  /// that have slots would wait for its categories, and keep it from getting a slot.
  mutating func arrive(_ turn: GuardTurn) {
    if !categories.isEmpty, turn.composition.environment.pool == nil { getInLine(turn) }
  }

  private mutating func getInLine(_ turn: GuardTurn) {
    let reservation = ExclusionReservation(
      categories, in: registry, for: turn.guarded, named: turn.ownerName, around: turn.composition.environment.held)
    self.reservation = reservation
    turn.composition.becomeHolder()
    reservation.answer = registry.request(reservation, place: turn.place)
  }

  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made? {
    guard !categories.isEmpty else { return nil }
    if reservation == nil { getInLine(turn) }
    switch reservation?.answer.take() {
    case .granted(let holdsMore):
      if holdsMore { turn.composition.environment.held = reservation }
      return nil
    case .waiting:
      guard let reservation else { return nil }
      return .run(ReservationGate(reservation, turn))
    case .refused(let error):
      return .settle(.failure(error))
    case nil:
      if previous?.failure != nil || previous?.isCancelled == true { return previous.map { .settleLike($0) } }
      turn.composition.environment.held = reservation
      return nil
    }
  }

  mutating func isOver(in composition: Composition, _ verdict: Verdict) {
    if let reservation = reservation.take() { registry.release(reservation) }
  }
}
