import Foundation

/// The reservation of categories for one operation. The operations inside that operation inherit
/// the reservation, and use what it holds.
final class ExclusionReservation: Reservation, WaitingReservation, @unchecked Sendable {  // locked
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
  /// The categories that the reservation asks for.
  let categories: [ExclusionCategory]
  /// The number of the reservation in the registry's state. Set once, before another thread knows
  /// the reservation.
  var id = 0
  /// The operation, for errors that name it; nil after the release.
  var operation: Operation?
  /// The name of what `exclusive` returned, for errors if the operation has none.
  let ownerName: String?
  var standing = Standing.waiting
  /// The answer of the registry. Only the thread that asks uses it.
  var answer: ExclusionRegistry.Answer?
  /// The gate to pass when the reservation no longer waits.
  var gate: ReservationGate?

  init(
    _ categories: [ExclusionCategory], in registry: ExclusionRegistry, for operation: Operation,
    named ownerName: String? = nil, around: Reservation?
  ) {
    self.categories = categories
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

  var purpose: String { "waits for \(GateOperation.list(categories.map(\.name)))" }

  func attach(_ gate: ReservationGate) -> Bool {
    if case .waiting = registry.attach(gate, to: self) { true } else { false }
  }

  func giveBack(isGranted: Bool) {
    if isGranted { registry.release(self) } else { registry.withdraw(self) }
  }

  var refusal: (any Error)? {
    if case .refused(let circle) = standing { ExclusionError(circle) } else { nil }
  }
}
