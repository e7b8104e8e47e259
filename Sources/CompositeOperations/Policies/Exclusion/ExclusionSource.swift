import Foundation
import Synchronization

/// Runs an operation while it holds categories: the engine of `exclusive`.
final class ExclusionSource: GuardSource, @unchecked Sendable {  // see the fields; one thread touches the rest
  private let categories: [ExclusionCategory]
  private let registry: ExclusionRegistry
  private var reservation: ExclusionReservation?
  private var answer: ExclusionRegistry.Answer?

  init(_ guarded: Operation, _ categories: [ExclusionCategory], in registry: ExclusionRegistry) {
    self.categories = categories
    self.registry = registry
    super.init(guarded)
  }

  /// Gets in line inside `start()`, so that operations stand in line in the order of their starts.
  /// An operation that has to wait for a slot after that gets in line later. Otherwise operations
  /// that have slots would wait for its categories, and keep it from getting a slot.
  override func arrive(for guarded: Operation) {
    if !categories.isEmpty, environment.pool == nil { getInLine(for: guarded) }
  }

  private func getInLine(for guarded: Operation) {
    let reservation = ExclusionReservation(in: registry, for: guarded, named: ownerName, around: environment.held)
    self.reservation = reservation
    isHolder.store(true, ordering: .relaxed)
    answer = registry.request(categories, for: reservation, place: place)
  }

  override func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    guard !categories.isEmpty else { return nil }
    if reservation == nil { getInLine(for: guarded) }
    switch answer.take() {
    case .granted(let holdsMore):
      if holdsMore { environment.held = reservation }
      return nil
    case .waiting:
      guard let reservation else { return nil }
      return .run(ExclusionGate(reservation, to: categories, for: isOurs ? guarded : nil, in: environment))
    case .refused(let error):
      return .settle(.failure, error: error)
    case nil:
      if previous?.failure != nil || previous?.isCancelled == true { return previous.map { .settleLike($0) } }
      environment.held = reservation
      return nil
    }
  }

  override var kind: OperationKind { .exclusive }

  override func guardIsOver(as ending: OperationState.Ending, error: (any Error)?) {
    if let reservation = reservation.take() { registry.release(reservation) }
  }
}
