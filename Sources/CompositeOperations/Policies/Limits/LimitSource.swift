import Foundation
import Synchronization

/// Runs an operation when a limit has room for it: the engine of `limited`.
final class LimitSource: GuardSource, @unchecked Sendable {  // see the fields; one thread at a time uses the rest
  private let limit: SharedLimit
  private let weight: Int
  /// The number of the operation's ``Place``; 0 until it has one.
  private let place = Atomic(0)
  private var claim: LimitClaim?

  init(_ guarded: Operation, by limit: SharedLimit, weight: Int, givesVoid: Bool) {
    require(
      weight > 0,
      "limited(by:weight:) was given a weight of \(weight), which no limit counts. Use 1 or more.")
    self.limit = limit
    self.weight = weight
    super.init(guarded, givesVoid: givesVoid)
  }

  override func takePlace(_ number: () -> Int) {
    guard place.load(ordering: .relaxed) == 0 else { return }
    _ = place.compareExchange(expected: 0, desired: number(), ordering: .relaxed)
  }

  /// Joins the line inside `start()`, so that operations wait in the order of their starts; not if
  /// the operation must then wait for a slot, as for `exclusive`.
  override func arrive(for guarded: Operation) {
    if environment.pool == nil { getInLine() }
  }

  private func getInLine() {
    takePlace(Place.next)
    let claim = LimitClaim(in: limit, weight: weight, around: environment.held)
    self.claim = claim
    isHolder.store(true, ordering: .relaxed)
    limit.request(claim, place: place.load(ordering: .relaxed))
  }

  override func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    if claim == nil { getInLine() }
    guard let claim else { return nil }
    switch limit.standing(of: claim) {
    case .granted:
      if previous?.isCancelled == true { return .settle(.cancelled) }
      environment.held = claim
      return nil
    case .refused(let greatestWeight):
      let error = LimitError(
        operationDescription: OperationError.describe(guarded, orNamed: ownerName), limitName: limit.name,
        weight: weight, greatestWeight: greatestWeight)
      return .settle(.failure, error: error)
    case .waiting:
      // The gate was cancelled.
      if previous != nil { return .settle(.cancelled) }
      return .run(LimitGate(claim, for: isOurs ? guarded : nil, in: environment))
    }
  }

  override var kind: OperationKind { .limited }

  override func guardIsOver(as ending: OperationState.Ending, error: (any Error)?) {
    if let claim = claim.take() { limit.release(claim) }
  }
}
