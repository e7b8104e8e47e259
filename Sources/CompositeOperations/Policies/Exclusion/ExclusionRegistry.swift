import Foundation

/// The categories that operations hold, and the operations that wait for them: see
/// ``ComposableOperation/exclusive(_:in:)-(ExclusionCategory...,_)``.
///
/// Use ``shared``, or make a registry to keep your categories apart from those of other libraries.
/// Operations in different registries do not exclude each other. A registry does not know what
/// operations wait for in another registry. So operations that wait for each other across
/// registries can deadlock.
///
/// A registry keeps nothing of operations that have finished. It forgets a category when no
/// operation holds it or waits for it, but keeps the limits that were set. May be used on any
/// thread.
public final class ExclusionRegistry: Sendable {
  /// The registry that `exclusive` uses unless it is given another.
  public static let shared = ExclusionRegistry()

  private let state: LockBox<ExclusionState<ExclusionReservation>>

  /// Makes a registry in which no operation holds anything.
  ///
  /// - Parameter defaultLimit: how many operations may hold a category at the same time, if the
  ///   category has no limit of its own. By default 1, which is mutual exclusion. Traps unless it
  ///   is positive.
  public init(defaultLimit: Int = 1) {
    require(
      defaultLimit > 0,
      "ExclusionRegistry was made with a default limit of \(defaultLimit), so its operations could never run. Use 1 "
        + "for mutual exclusion, or a higher number for semaphores.")
    state = LockBox(ExclusionState(defaultLimit: defaultLimit))
  }

  /// How many operations may hold a category at the same time: the limit that was set for the
  /// category, or the default of the registry.
  package func limit(for category: ExclusionCategory) -> Int {
    state.withLock { $0.limit(of: category) }
  }

  /// Sets how many operations may hold a category at the same time in this registry. If that is
  /// more than 1, the category is a semaphore.
  ///
  /// The limit can be changed at any time. Raising it starts the waiting operations that now have
  /// room. Lowering it interrupts nothing: operations that hold the category keep it. If operations
  /// wait for each other in a circle because of the lower limit, one of them fails with
  /// ``ExclusionError/Code/deadlock``.
  ///
  /// - Parameters:
  ///   - limit: how many. Traps unless it is positive.
  ///   - category: the category.
  public func setLimit(_ limit: Int, for category: ExclusionCategory) {
    require(
      limit > 0,
      "The limit of the exclusion category \(category) was set to \(limit), so its operations could never run. "
        + "Use 1 for mutual exclusion, or a higher number for a semaphore.")
    carryOut(state.withLock { state in note(state.setLimit(limit, of: category)) })
  }

  /// Whether no operation holds a category or waits for one, and nothing is left of earlier
  /// operations.
  var isUnused: Bool { state.withLock { $0.reservations.isEmpty && $0.lines.isEmpty } }

  /// How many operations wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  // MARK: - Reservations

  enum Answer {
    /// - Parameter holdsMore: whether the reservation holds a category that no reservation around
    ///   it holds.
    case granted(holdsMore: Bool)
    case waiting
    case refused(ExclusionError)
  }

  /// Asks for all categories of a new reservation at once.
  ///
  /// - Parameter place: the reservation's place in the lines.
  func request(_ reservation: ExclusionReservation, place: Int) -> Answer {
    let ancestors = reservation.around == nil ? [] : reservation.numbersAround
    var others: [ReservationGate] = []
    var circle: [ExclusionReservation.Wait] = []
    let answer: Answer? = state.withLock { state in
      reservation.id = place
      let (answer, change) = state.request(
        reservation.categories, for: reservation, number: place, ancestors: ancestors)
      others = note(change)
      switch answer {
      case .granted:
        reservation.standing = .granted
        return .granted(holdsMore: ancestors.isEmpty || state.reservations[place]!.categories.isEmpty == false)
      case .waiting:
        return .waiting
      case .refused(let waits):
        circle = waits.map(ExclusionReservation.Wait.init)
        return nil
      }
    }
    carryOut(others)
    return answer ?? .refused(ExclusionError(circle))
  }

  /// Attaches a gate if the reservation waits. The gate passes when the reservation no longer
  /// waits. Returns the standing of the reservation.
  func attach(_ gate: ReservationGate, to reservation: ExclusionReservation) -> ExclusionReservation.Standing {
    state.withLock { _ in
      if case .waiting = reservation.standing { reservation.gate = gate }
      return reservation.standing
    }
  }

  /// Removes the reservation from the lines if it still waits.
  func withdraw(_ reservation: ExclusionReservation) {
    var gate: ReservationGate?  // released outside the lock
    let others = state.withLock { state in
      swap(&gate, &reservation.gate)
      return note(state.withdraw(reservation.id))
    }
    withExtendedLifetime(gate) {}
    carryOut(others)
  }

  /// Releases the reservation of an operation that has finished or will not run.
  func release(_ reservation: ExclusionReservation) {
    var left: (Operation?, ReservationGate?)  // released outside the lock
    let others = state.withLock { state in
      swap(&left.0, &reservation.operation)
      swap(&left.1, &reservation.gate)
      return note(state.release(reservation.id))
    }
    withExtendedLifetime(left) {}
    carryOut(others)
  }

  /// Takes free categories and releases them. The benchmarks measure the cost.
  package func takeAndRelease(_ categories: [ExclusionCategory], for operation: Operation) {
    let reservation = ExclusionReservation(categories, in: self, for: operation, around: nil)
    _ = request(reservation, place: Place.next())
    release(reservation)
  }

  // MARK: - Consequences

  /// Stores the new standing of reservations. Called inside the lock. Returns the gates that the
  /// caller must let pass outside the lock.
  private func note(_ change: ExclusionState<ExclusionReservation>.Change) -> [ReservationGate] {
    guard !change.granted.isEmpty || !change.refused.isEmpty else { return [] }
    for reservation in change.granted { reservation.standing = .granted }
    for (reservation, circle) in change.refused {
      reservation.standing = .refused(circle.map(ExclusionReservation.Wait.init))
    }
    return (change.granted + change.refused.map(\.owner)).compactMap { $0.gate.take() }
  }

  private func carryOut(_ gates: [ReservationGate]) {
    for gate in gates { gate.pass() }
  }
}
