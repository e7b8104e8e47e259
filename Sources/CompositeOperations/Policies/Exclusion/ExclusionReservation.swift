import Foundation

/// The reservation of categories for one operation. The operations inside that operation inherit
/// the reservation, and use what it holds.
final class ExclusionReservation: Reservation, @unchecked Sendable {  // guarded by the lock of the registry
  enum Standing {
    case waiting, granted
    case refused([Wait])
  }

  /// One step of a circle. Made while the operations exist, so that an error can name them.
  struct Wait {
    let waiting: Operation?
    let waitingName: String?
    let category: ExclusionCategory
    let holding: Operation?
    let holdingName: String?

    init(_ wait: ExclusionState<ExclusionReservation>.Wait) {
      (waiting, waitingName, category) = (wait.waiting.operation, wait.waiting.ownerName, wait.category)
      (holding, holdingName) = (wait.holding.operation, wait.holding.ownerName)
    }
  }

  let registry: ExclusionRegistry
  /// The number of the reservation in the registry's state. Set once, before another thread knows
  /// the reservation.
  var id = 0
  /// The operation, for errors that name it; nil after the release.
  var operation: Operation?
  /// The name of what `exclusive` returned, for errors if the operation has none.
  let ownerName: String?
  var standing = Standing.waiting
  /// The gate to pass when the reservation no longer waits.
  var gate: ExclusionGate?

  init(in registry: ExclusionRegistry, for operation: Operation, named ownerName: String? = nil, around: Reservation?) {
    self.registry = registry
    self.operation = operation
    self.ownerName = ownerName
    super.init(around: around)
  }

  /// The numbers of the reservations around this one in the same registry, the innermost first.
  var numbersAround: [Int] {
    sequence(first: self as Reservation, next: { $0.around }).dropFirst()
      .compactMap { $0 as? ExclusionReservation }.filter { $0.registry === registry }.map(\.id)
  }
}

/// A gate that waits until a registry grants a reservation, or refuses it.
final class ExclusionGate: ReservationGate, @unchecked Sendable {  // immutable
  private let reservation: ExclusionReservation
  private let categories: [ExclusionCategory]

  /// - Parameter categories: the categories that the reservation asks for.
  init(
    _ reservation: ExclusionReservation, to categories: [ExclusionCategory], _ turn: GuardTurn
  ) {
    self.reservation = reservation
    self.categories = categories
    super.init(turn)
  }

  override var purpose: String { "waits for \(GateOperation.list(categories.map(\.name)))" }

  override func attach() -> Bool {
    if case .waiting = reservation.registry.attach(self, to: reservation) { true } else { false }
  }

  override func giveBack(isGranted: Bool) {
    if isGranted { reservation.registry.release(reservation) } else { reservation.registry.withdraw(reservation) }
  }

  override func conclude() {
    if case .refused(let circle) = reservation.standing { reject(with: ExclusionError(circle)) } else { finish() }
  }
}
