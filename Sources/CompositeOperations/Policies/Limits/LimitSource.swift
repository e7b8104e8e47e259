import Foundation
import Synchronization

/// Runs an operation when a limit has room for it: the engine of `limited`.
final class LimitSource: GuardSource, @unchecked Sendable {  // see the fields; one thread at a time uses the rest
  private let limit: SharedLimit
  private let weight: Int
  private var reservation: LimitReservation?

  init(_ guarded: Operation, by limit: SharedLimit, weight: Int) {
    require(
      weight > 0,
      "limited(by:weight:) was given a weight of \(weight), which is not positive. Use 1 or more.")
    self.limit = limit
    self.weight = weight
    super.init(guarded)
  }

  /// Gets in line inside `start()`, so that operations stand in line in the order of their starts.
  /// An operation that has to wait for a slot after that gets in line later, as with `exclusive`.
  override func arrive(for guarded: Operation) {
    if environment.pool == nil { getInLine() }
  }

  private func getInLine() {
    let reservation = LimitReservation(in: limit, weight: weight, around: environment.held)
    self.reservation = reservation
    isHolder.store(true, ordering: .relaxed)
    limit.request(reservation, place: place)
  }

  override func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    if reservation == nil { getInLine() }
    guard let reservation else { return nil }
    switch limit.standing(of: reservation) {
    case .granted:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      environment.held = reservation
      return nil
    case .refused(let greatestWeight):
      let error = LimitError(
        operationDescription: OperationError.describe(guarded, orNamed: ownerName), limitName: limit.name,
        weight: weight, greatestWeight: greatestWeight, isLeftAlone: !isOurs)
      return .settle(.failure, error: error)
    case .waiting:
      // The gate was cancelled.
      if previous != nil { return .settle(.cancelled) }
      return .run(LimitGate(reservation, for: isOurs ? guarded : nil, in: environment))
    }
  }

  override var kind: OperationKind { .limited }

  override func guardIsOver(as ending: OperationState.Ending, error: (any Error)?) {
    if let reservation = reservation.take() { limit.release(reservation) }
  }
}
