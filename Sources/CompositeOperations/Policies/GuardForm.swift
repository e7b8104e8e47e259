import Foundation

/// What decides whether and when an operation may run. One thread at a time uses a guard.
protocol OperationGuard {
  var kind: OperationKind { get }

  /// Called inside `start()` if there is no dependency to wait for.
  mutating func arrive(_ turn: GuardTurn)

  /// Returns the next step before the operation; nil if the operation may run. Called where
  /// operations run.
  ///
  /// - Parameter previous: the step that was returned last, which has settled; nil at first.
  mutating func next(_ turn: GuardTurn, after previous: Operation?) -> Composition.Made?

  /// Called when the operation has finished or will not run, just before the owner settles.
  mutating func isOver(in composition: Composition, _ verdict: Verdict)
}

extension OperationGuard {
  func arrive(_ turn: GuardTurn) {}
}

/// What a guard knows when its turn comes.
struct GuardTurn {
  /// The composition that runs the guards. What a guard holds is noted in its environment.
  let composition: GuardForm
  /// The operation that the guard is for.
  let guarded: Operation
  /// Whether the compositions around the operation start it. If not, other code does, and they only
  /// wait for it.
  let isOurs: Bool
  fileprivate let index: Int

  /// The name of the operation that the policy has returned, for errors.
  var ownerName: String? { composition.ownerName(ofGuard: index) }
  /// The number of the ``Place`` in a line.
  var place: Int { index == 0 ? composition.ownPlace : Place.next() }

  /// Calls `action` when an operation is cancelled, or settled by other code, that makes the guard
  /// pointless. A later call replaces the action.
  func whenPointless(_ action: @escaping @Sendable () -> Void) {
    composition.forEachDeciding(index) { ($0 as? SettlingOperation)?.setWhenDecidedUnstarted(action) }
  }
}

/// Runs one operation after its guards: the form of `condition`, `exclusive`, `limited` and
/// `guarded`.
///
/// Each of them has one guard. When the outermost one of nested guards starts, it takes over the
/// guards inside. It waits for the dependencies of all operations, so no guard holds anything
/// meanwhile. Then it runs the guards, from the outside in. Then it gives them back, and runs its
/// operation. If a guard refuses, its own composition settles.
final class GuardForm: Composition, @unchecked Sendable {  // see the fields; one thread at a time asks
  /// Who runs the guard.
  private enum Lending {
    /// - Parameter isAdopted: whether it is known who starts the operation.
    case new(isAdopted: Bool)
    /// This composition.
    case own
    /// A guard around this one, with a copy.
    case lent
    /// The guard around this one has run the guard, which has refused with a verdict or let pass.
    case returned(Verdict?)
    /// The composition has ended.
    case over
  }

  private enum Stage {
    /// Waiting for dependencies.
    case waiting
    /// Running the guards.
    case guarding
    /// The operation is to be handed out.
    case passed
    /// The guard has refused.
    case refused(Verdict)
    /// The operation was handed out, or settled without being run.
    case done
  }

  /// A guard inside.
  private struct Inner {
    let composition: GuardForm
    var guardian: any OperationGuard
    let guarded: Operation
    let isOurs: Bool
  }

  // The striped lock guards these while the guard may be lent.
  @exclusivity(unchecked) private var lending = Lending.new(isAdopted: false)
  @exclusivity(unchecked) private var guardian: any OperationGuard
  /// Whether this composition starts the operation. If not, other code starts it, and this
  /// composition only waits for it.
  @exclusivity(unchecked) private var isOurs = false

  @exclusivity(unchecked) private var stage = Stage.waiting
  /// The guards inside that this one has taken over, from the outside in.
  @exclusivity(unchecked) private var inner: [Inner] = []
  /// Which guard has its turn: 0 for the own one.
  @exclusivity(unchecked) private var turn = 0
  /// The dependencies of the owner and of the guarded operations, once the wait for them is over.
  @exclusivity(unchecked) private(set) var dependencies: [Operation] = []

  init(_ guarded: Operation, _ guardian: any OperationGuard) {
    self.guardian = guardian
    super.init(guardian.kind, .steps(), .hasPlace, wrapping: WrappedOperation(guarded))
  }

  override func start(_ owner: SettlingOperation) -> Bool {
    guard let guarded = wrappedOperation, begin(guarded) else { return true }
    if owner.mayHaveDependencies { dependencies = owner.dependencies }
    if !guarded.isDecided, unmet(guarded) == nil { guardian.arrive(turn(of: 0, guarded)) }
    return true
  }

  /// Takes over the operation and the guards inside it. Returns false if the guard has run already.
  private func begin(_ guarded: Operation) -> Bool {
    let before = StripedLock.withLock(of: self) {
      defer {
        switch lending {
        case .new, .lent: lending = .own
        case .own, .returned, .over: break
        }
      }
      return lending
    }
    switch before {
    case .new(isAdopted: false): isOurs = guarded.adopt()
    // Other code has started an operation that is composed: it runs its own guard.
    case .lent, .own, .new(isAdopted: true): break
    case .returned(let verdict?): stage = .refused(verdict)
    case .returned(nil), .over: stage = .passed
    }
    guard case .waiting = stage else { return false }
    var (operation, isOurs) = (guarded, isOurs)
    while isOurs, let composition = (operation as? SettlingOperation)?.composition as? GuardForm,
      let lent = composition.lend(to: self)
    {
      isOurs = composition.adopt(lent.guarded, isAdopted: lent.isAdopted)
      inner.append(Inner(composition: composition, guardian: lent.guardian, guarded: lent.guarded, isOurs: isOurs))
      operation = lent.guarded
    }
    return true
  }

  private func lend(
    to runner: GuardForm
  ) -> (guardian: any OperationGuard, guarded: Operation, isAdopted: Bool)? {
    StripedLock.withLock(of: self) {
      guard case .new(let isAdopted) = lending, let guarded = wrapped.operation else { return nil }
      // Until it is known.
      if !isAdopted { isOurs = true }
      (lending, guardRunner) = (.lent, runner)
      return (guardian, guarded, isAdopted)
    }
  }

  /// Adopts the operation for a composition whose guard is lent. Returns whether that starts it.
  private func adopt(_ guarded: Operation, isAdopted: Bool) -> Bool {
    if isAdopted { return StripedLock.withLock(of: self) { self.isOurs } }
    let isOurs = guarded.adopt()
    StripedLock.withLock(of: self) { if case .lent = lending { self.isOurs = isOurs } }
    return isOurs
  }

  /// Gives the guards back that were taken over.
  ///
  /// - Parameter refusal: the verdict of the guard whose turn it is, if that has refused.
  private func giveBack(_ refusal: Verdict? = nil) {
    if inner.isEmpty { return }
    for (index, level) in inner.enumerated() {
      let lending: Lending =
        index > turn - 1 ? .new(isAdopted: true) : .returned(index == turn - 1 ? refusal : nil)
      let (isTaken, isThere) = level.composition.takeBack(level.guardian, lending)
      // Other code has settled or started the operation of the guard meanwhile.
      if !isTaken {
        var guardian = level.guardian
        guardian.isOver(in: self, .cancelled)
      }
      if !isThere, level.isOurs {
        _ = abandon(level.guarded, tag: 0, observer: SettlementAction {}, ThreadContext.current)
      }
    }
    inner = []
  }

  /// Returns whether the guard was taken back, and whether this composition still has its
  /// operation.
  private func takeBack(
    _ guardian: any OperationGuard, _ lending: Lending
  ) -> (isTaken: Bool, isThere: Bool) {
    StripedLock.withLock(of: self) {
      guardRunner = nil
      guard case .lent = self.lending else { return (false, wrapped.operation != nil) }
      (self.guardian, self.lending) = (guardian, lending)
      return (true, true)
    }
  }

  // MARK: - Steps

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    guard let guarded = wrappedOperation else { return .settle(.cancelled) }
    switch stage {
    case .waiting:
      // The gate was cancelled, by `cancelAllOperations()` for example.
      if previous?.isCancelled == true { return .settle(.cancelled) }
      return afterWaiting(for: guarded, count)
    case .guarding: return runGuards(for: guarded, after: previous, count)
    case .passed: return handOut(guarded, count)
    case .refused(let verdict): return .settle(verdict)
    case .done: return .settleLike(guarded)
    }
  }

  private func afterWaiting(for guarded: Operation, _ count: Int) -> Made {
    // All of them each time: a dependency may have been added to one that has waited.
    if let unmet = unmet(guarded) {
      let (operation, isOurs) = operations(guarded)[unmet]
      return .run(
        DependencyGate(of: operation, isOurs: isOurs, turn(of: unmet, guarded)))
    }
    // What was waited for, which may have changed meanwhile.
    if guarded.mayHaveDependencies { dependencies += guarded.dependencies }
    for level in inner where level.guarded.mayHaveDependencies { dependencies += level.guarded.dependencies }
    stage = .guarding
    return runGuards(for: guarded, after: nil, count)
  }

  private func runGuards(for guarded: Operation, after previous: Operation?, _ count: Int) -> Made {
    // Other code may have added it to a queue since it was taken over, which starts it.
    if isOurs, guarded.entersOtherQueue {
      isOurs = false
      giveBack()
    }
    var previous = previous
    while turn <= inner.count, !isPointless(guarded, after: previous) {
      if let made = runGuard(turn(of: turn, guarded), after: previous) {
        guard turn > 0, case .settle(let verdict) = made else { return made }
        // That operation settles so, and with it those around it.
        giveBack(verdict)
        return handOut(guarded, count)
      }
      turn += 1
      previous = nil
    }
    giveBack()
    return handOut(guarded, count)
  }

  private func runGuard(_ turn: GuardTurn, after previous: Operation?) -> Made? {
    if turn.index == 0 { return guardian.next(turn, after: previous) }
    // A copy, because the guard asks the turn, which reads the list.
    var guardian = inner[turn.index - 1].guardian
    defer { inner[turn.index - 1].guardian = guardian }
    guard OperationContext.isUsed, let owner = owner(ofGuard: turn.index) else {
      return guardian.next(turn, after: previous)
    }
    // The values are those of the operation that has the guard.
    passContext(to: owner)
    return ThreadContext.current.runUserCode(in: owner.context) { guardian.next(turn, after: previous) }
  }

  private func handOut(_ guarded: Operation, _ count: Int) -> Made {
    stage = .done
    lastTag = count + 1
    return .run(isOurs && !guarded.entersOtherQueue ? guarded : SettlementGate(of: guarded))
  }

  // MARK: - The operations

  /// The guarded operations, from the outside in.
  private func operations(_ guarded: Operation) -> [(operation: Operation, isOurs: Bool)] {
    [(guarded, isOurs)] + inner.map { ($0.guarded, $0.isOurs) }
  }

  /// The innermost operation that still waits for dependencies; nil if none does. What is decided
  /// waits for none, nor does what is inside of it.
  private func unmet(_ guarded: Operation) -> Int? {
    // Usually there is nothing to wait for, and nothing to allocate.
    if inner.isEmpty { return guarded.waitsForDependencies && !guarded.isDecided ? 0 : nil }
    return operations(guarded).prefix { !$0.operation.isDecided }.lastIndex { $0.operation.waitsForDependencies }
  }

  /// Whether the guard whose turn it is need not run: an operation that was cancelled needs no
  /// guard, nor one that this composition would start and that other code has settled.
  private func isPointless(_ guarded: Operation, after previous: Operation?) -> Bool {
    if isOurs ? guarded.isDecided : guarded.isCancelled { return true }
    guard turn > 0 else { return false }
    // Those around were looked at in their turn; after a wait, all are.
    let levels = previous == nil ? inner[(turn - 1)..<turn] : inner[..<turn]
    return levels.contains { $0.isOurs ? $0.guarded.isDecided : $0.guarded.isCancelled }
  }

  private func turn(of index: Int, _ guarded: Operation) -> GuardTurn {
    if index == 0 { return GuardTurn(composition: self, guarded: guarded, isOurs: isOurs, index: 0) }
    return GuardTurn(
      composition: self, guarded: inner[index - 1].guarded, isOurs: inner[index - 1].isOurs, index: index)
  }

  fileprivate func ownerName(ofGuard index: Int) -> String? {
    index == 0 ? ownerName : owner(ofGuard: index)?.name
  }

  /// The operation that a policy has returned with the guard; not for the own guard.
  private func owner(ofGuard index: Int) -> SettlingOperation? {
    (index == 1 ? wrappedOperation : inner[index - 2].guarded) as? SettlingOperation
  }

  /// Calls `body` with the operations down to that of a guard, without those that other code
  /// starts.
  fileprivate func forEachDeciding(_ index: Int, _ body: (Operation) -> Void) {
    if isOurs, let guarded = wrappedOperation { body(guarded) }
    for level in inner.prefix(index) where level.isOurs { body(level.guarded) }
  }

  // MARK: - The end

  /// Nil: ``conclude(_:count:)`` settles the operation.
  override func discard() -> Operation? { nil }

  override func conclude(_ verdict: Verdict, count: Int) {
    giveBack()
    if let wrapped = wrappedOperation { noteName(of: wrapped, tag: 1) }
    let (operation, last) = StripedLock.withLock(of: self) {
      defer { lending = .over }
      return (wrapped.operation.take(), lending)
    }
    let isOurs =
      switch (last, stage) {
      case (.new(isAdopted: false), _): operation?.adopt() == true
      // It was handed out. Or who has borrowed the guard settles the operation.
      case (_, .done), (.lent, _), (.over, _): false
      case (.own, _), (.returned, _), (.new, _): self.isOurs
      }
    guard let operation, isOurs else { return settle(verdict) }
    let afterwards = SettlementAction { [self] in settle(verdict) }
    if abandon(operation, tag: 0, observer: afterwards, ThreadContext.current) { settle(verdict) }
  }

  private func settle(_ verdict: Verdict) {
    dependencies = []
    guardian.isOver(in: self, verdict)
    settleOwner(verdict)
  }

  // MARK: - What is shown

  /// Guards do not count as earlier work.
  override var knownChildren: KnownChildren {
    var known = currentChildren
    known.earlier = min(known.earlier, 1)
    return known
  }

  /// Only the operation, or the gate that waits for it if other code runs it, stands for the work.
  override func work(standingFor child: Operation) -> Operation? {
    if let gate = child as? SettlementGate { return gate.operation }
    return child === wrappedOperation && !(child is DelayOperation) ? child : nil
  }
}

extension Operation {
  /// Whether the operation was cancelled or has ended. Another thread may still be storing the
  /// outcome, but the gates before the operation have ended by then.
  fileprivate var isDecided: Bool {
    isCancelled || (self as? SettlingOperation).map { $0.state.current.phase > .executing } ?? isFinished
  }

  /// Whether other code has added the operation, which a guard has adopted, to a queue that starts
  /// it.
  fileprivate var entersOtherQueue: Bool { (self as? SettlingOperation)?.waitsInQueue ?? isInQueue }

  fileprivate var waitsForDependencies: Bool { mayHaveDependencies && DependencyWait.isNeeded(for: self) }

  fileprivate var mayHaveDependencies: Bool {
    (self as? SettlingOperation)?.state.current.has(.hasDependencies) ?? true
  }
}
