import Foundation

/// The categories that operations hold, and the operations that wait for them: see
/// ``ComposableOperation/exclusive(_:in:)-(ExclusionCategory...,_)``.
///
/// Use ``shared``, or make a registry for categories that are apart from those of other libraries.
/// Operations in different registries do not exclude each other. A registry does not know what
/// operations wait for in another, so operations that wait for each other across registries can
/// deadlock.
///
/// A registry keeps nothing of operations that have finished. It forgets a category when no
/// operation holds it or waits for it, but keeps the limits that were set. May be used on any
/// thread.
public final class ExclusionRegistry: Sendable {
  /// The registry that `exclusive` uses if it is given no other.
  public static let shared = ExclusionRegistry()

  private let state: LockBox<ExclusionState<ExclusionClaim>>

  /// Makes a registry in which no operation holds anything.
  ///
  /// - Parameter defaultLimit: how many operations may hold a category at the same time that has no
  ///   limit of its own. By default 1, which is mutual exclusion. Traps unless it is positive.
  public init(defaultLimit: Int = 1) {
    require(
      defaultLimit > 0,
      "ExclusionRegistry was made with a default limit of \(defaultLimit), so that its operations could never run. Use 1 "
        + "for mutual exclusion, or a higher number for semaphores.")
    state = LockBox(ExclusionState(defaultLimit: defaultLimit))
  }

  /// How many operations may hold a category at the same time: what was set for it, or the default
  /// of the registry.
  public func limit(for category: ExclusionCategory) -> Int {
    state.withLock { $0.limit(of: category) }
  }

  /// Sets how many operations may hold a category at the same time, in this registry: above 1 the
  /// category is a semaphore.
  ///
  /// Can be changed at any time. Raising it starts the waiting operations that now have room.
  /// Lowering it interrupts nothing: operations that hold the category keep it. If operations wait
  /// for each other in a circle because of the lower limit, one of them fails with
  /// ``ExclusionError/Code/deadlock``.
  ///
  /// - Parameters:
  ///   - limit: how many. Traps unless it is positive.
  ///   - category: the category.
  public func setLimit(_ limit: Int, for category: ExclusionCategory) {
    require(
      limit > 0,
      "The limit of the exclusion category \(category) was set to \(limit), so that its operations could never run. "
        + "Use 1 for mutual exclusion, or a higher number for a semaphore.")
    carryOut(state.withLock { state in note(state.setLimit(limit, of: category)) })
  }

  /// Whether no operation holds a category or waits for one, and nothing is left of earlier ones.
  var isUnused: Bool {
    state.withLock { $0.claims.isEmpty && $0.lines.isEmpty }
  }

  /// How many operations wait.
  var waitingCount: Int {
    state.withLock { $0.waiting.count }
  }

  // MARK: - Claims

  enum Answer {
    /// - Parameter holdsMore: whether the claim holds a category that no claim around it holds.
    case granted(holdsMore: Bool)
    case waiting
    case refused(ExclusionError)
  }

  /// Asks for all categories of a new claim at once.
  ///
  /// - Parameter place: its place in the lines.
  func request(_ categories: [ExclusionCategory], for claim: ExclusionClaim, place: Int) -> Answer {
    let ancestors = claim.around == nil ? [] : claim.numbersAround
    var others: [ExclusionGate] = []
    var circle: [ExclusionClaim.Wait] = []
    let answer: Answer? = state.withLock { state in
      let (id, answer, change) = state.request(categories, for: claim, number: place, ancestors: ancestors)
      claim.id = id
      others = note(change)
      switch answer {
      case .granted:
        claim.standing = .granted
        return .granted(holdsMore: ancestors.isEmpty || state.claims[id]!.categories.isEmpty == false)
      case .waiting:
        return .waiting
      case .refused(let waits):
        circle = waits.map(ExclusionClaim.Wait.init)
        return nil
      }
    }
    carryOut(others)
    return answer ?? .refused(ExclusionError(circle))
  }

  /// Attaches the gate to pass when the claim no longer waits. Returns the standing of the claim.
  func attach(_ gate: ExclusionGate, to claim: ExclusionClaim) -> ExclusionClaim.Standing {
    state.withLock { _ in
      if case .waiting = claim.standing { claim.gate = gate }
      return claim.standing
    }
  }

  /// Removes the claim from the lines if it still waits.
  func withdraw(_ claim: ExclusionClaim) {
    var gate: ExclusionGate?  // released outside the lock
    let others = state.withLock { state in
      swap(&gate, &claim.gate)
      return note(state.withdraw(claim.id))
    }
    withExtendedLifetime(gate) {}
    carryOut(others)
  }

  /// Releases the claim of an operation that has finished or will not run.
  func release(_ claim: ExclusionClaim) {
    var left: (Operation?, ExclusionGate?)  // released outside the lock
    let others = state.withLock { state in
      swap(&left.0, &claim.operation)
      swap(&left.1, &claim.gate)
      return note(state.release(claim.id))
    }
    withExtendedLifetime(left) {}
    carryOut(others)
  }

  /// Takes free categories and releases them. The benchmarks measure what that costs.
  package func takeAndRelease(_ categories: [ExclusionCategory], for operation: Operation) {
    let claim = ExclusionClaim(in: self, for: operation, around: nil)
    _ = request(categories, for: claim, place: Place.next())
    release(claim)
  }

  // MARK: - Consequences

  /// Stores the standing of claims. Called inside the lock. Returns the gates to pass outside of
  /// it.
  private func note(_ change: ExclusionState<ExclusionClaim>.Change) -> [ExclusionGate] {
    guard !change.granted.isEmpty || !change.refused.isEmpty else { return [] }
    for claim in change.granted { claim.standing = .granted }
    for (claim, circle) in change.refused { claim.standing = .refused(circle.map(ExclusionClaim.Wait.init)) }
    return (change.granted + change.refused.map(\.owner)).compactMap { $0.gate.take() }
  }

  private func carryOut(_ gates: [ExclusionGate]) {
    for gate in gates { gate.pass() }
  }
}
