import Foundation

/// One operation, and something that comes before it: the engine of `condition`, `exclusive`, `limited` and
/// `guarded`.
///
/// It waits for the operation's dependencies, then goes through what a subclass puts before the operation, and runs it
/// last. If it comes to an end before that, the operation is settled without being run.
class GuardSource: WrappingSource, @unchecked Sendable {  // only whoever begins, is asking or ends touches the fields
  private enum Stage {
    case new
    /// The operation's dependencies are waited for.
    case waiting
    /// What the subclass puts before the operation is under way.
    case guarding
    /// The operation was handed out, or settled without being run.
    case done
  }

  private var stage = Stage.new
  /// The operations whose dependencies are to be waited for.
  private var unmet: [Operation] = []
  /// The dependencies of the owner and of the operation. Of guards around guards the outermost waits for all of them,
  /// and tells the others; so nothing that they wait for is needed to meet them.
  private(set) final var dependencies: [Operation]?
  /// Whether the operation is this source's to start. Else somebody started it, and it is waited for and left alone.
  private(set) final var isOurs = false
  /// Whether a guard around this one is taking over what this one guards. Guarded by the striped lock, like the next.
  private var isLent = false
  /// Called when that is over.
  private var whenReturned: [@Sendable () -> Void] = []

  init(_ guarded: Operation, givesVoid: Bool) {
    super.init(guarded, givesVoid: givesVoid, joins: false)
  }

  /// What comes next before the operation; nil if it may run. Called where operations run.
  ///
  /// - Parameter previous: what was returned last, settled; nil at first.
  func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    preconditionFailure("abstract")
  }

  /// The owner has been started, is not paused, and no dependency has to be waited for. Called inside of `start()`.
  func arrive(for guarded: Operation) {}

  /// The last child has finished, and the owner settles next.
  ///
  /// - Parameters:
  ///   - ending: how.
  ///   - error: what with, if it is a failure.
  func guardIsOver(as ending: OperationState.Ending, error: (any Error)?) {}

  override final func begin(for owner: SettlingOperation, in queue: OperationQueue?) {
    if dependencies == nil, owner.mayHaveDependencies { dependencies = owner.dependencies }
    bind(to: owner, queue: queue)
    arrive()
    begin()
  }

  private func arrive() {
    let guarded = StripedLock.withLock(of: self) { isLent ? nil : operation }
    guard let guarded, !guarded.isDecided else { return }
    if stage == .new { takeOver(guarded) }
    guard !guarded.isDecided, !unmet.contains(where: DependencyWait.isNeeded) else { return }
    // One that is paused holds nothing that others could use: it comes when it is resumed, and has its place from now.
    if state.withLock({ $0.isHeld }) { takePlace(Place.next) } else { arrive(for: guarded) }
  }

  private func takeOver(_ guarded: Operation) {
    isOurs = guarded.takeOver()
    stage = .waiting
    lookInside(guarded)
  }

  /// Finds the guards that the operation consists of, takes over what they guard, and gathers all dependencies.
  ///
  /// A guard inside may be settled by others meanwhile, so what it guards is lent: whoever ends it leaves that alone.
  private func lookInside(_ guarded: Operation) {
    var operations: [Operation] = []
    var lent: [(source: GuardSource, operation: Operation, isOurs: Bool)] = []
    var (operation, isOurs) = (guarded, isOurs)
    while true {
      if operation.mayHaveDependencies { operations.append(operation) }
      guard isOurs, let source = (operation as? SettlingOperation)?.source as? GuardSource, let next = source.lend()
      else { break }
      isOurs = next.takeOver()
      lent.append((source, next, isOurs))
      operation = next
    }
    let all = (dependencies ?? []) + operations.flatMap(\.dependencies)
    dependencies = all
    for (source, operation, isOurs) in lent where !source.takeBack(isOurs: isOurs, dependencies: all) && isOurs {
      _ = abandon(operation, tag: 0, observer: SettlementAction {}, ThreadContext.current)
    }
    if self.isOurs { unmet = operations }
  }

  private func lend() -> Operation? {
    StripedLock.withLock(of: self) {
      guard let operation, stage == .new else { return nil }
      isLent = true
      return operation
    }
  }

  /// False if somebody ended this guard meanwhile, so that the operation is still to be settled.
  private func takeBack(isOurs: Bool, dependencies: [Operation]) -> Bool {
    var whenReturned: [@Sendable () -> Void] = []
    let goesOn = StripedLock.withLock(of: self) {
      isLent = false
      swap(&whenReturned, &self.whenReturned)
      guard operation != nil else { return false }
      self.isOurs = isOurs
      self.dependencies = dependencies
      stage = .waiting
      return true
    }
    for action in whenReturned { action() }
    return goesOn
  }

  /// Has `action` called when what this guard guards is given back. False if it is here.
  final func callWhenReturned(_ action: @escaping @Sendable () -> Void) -> Bool {
    StripedLock.withLock(of: self) {
      if isLent { whenReturned.append(action) }
      return isLent
    }
  }

  override final func nextStep(after previous: Operation?, count: Int) -> Step {
    let (operation, isLent) = StripedLock.withLock(of: self) { (self.operation, self.isLent) }
    // Meets only a program that starts what it gave away.
    if isLent { return .run(ReturnGate(self)) }
    guard let guarded = operation else { return .settle(.cancelled) }
    switch stage {
    case .new:
      takeOver(guarded)
      return afterWaiting(for: guarded, count)
    case .waiting:
      return afterWaiting(for: guarded, count)
    case .guarding:
      return afterGuarding(guarded, previous, count)
    case .done:
      return settleLike(guarded)
    }
  }

  private func afterWaiting(for guarded: Operation, _ count: Int) -> Step {
    while let next = unmet.popLast(), !guarded.isDecided {
      if DependencyWait.isNeeded(for: next) { return .run(DependencyGate(of: next, for: guarded)) }
    }
    stage = .guarding
    return afterGuarding(guarded, nil, count)
  }

  private func afterGuarding(_ guarded: Operation, _ previous: Operation?, _ count: Int) -> Step {
    // One that was cancelled or settled by others needs nothing more.
    if !isOurs || !guarded.isDecided, let step = nextGuard(for: guarded, after: previous) { return step }
    stage = .done
    lastTag = count + 1
    return .run(isOurs ? guarded : SettlementGate(of: guarded))
  }

  /// ``conclude(as:value:error:)`` settles it.
  override final func takeUnasked() -> Operation? { nil }

  /// What comes before the work is no earlier work.
  override final var knownChildren: KnownChildren {
    var known = super.knownChildren
    known.earlier = min(known.earlier, 1)
    return known
  }

  /// The operation alone, or what waits for it where another owner runs it; not what comes before.
  override final func work(standingFor child: Operation) -> Operation? {
    if let gate = child as? SettlementGate { return gate.operation }
    return child === wrapped && !(child is DelayOperation) ? child : nil
  }

  override final func conclude(as ending: OperationState.Ending, value: (any Sendable)?, error: (any Error)?) {
    let (operation, isLent) = StripedLock.withLock(of: self) {
      defer { self.operation = nil }
      return (self.operation, self.isLent)
    }
    guard let guarded = operation, !isLent, stage != .done, stage == .new ? guarded.takeOver() : isOurs else {
      return settle(as: ending, value: value, error: error)
    }
    stage = .done
    let afterwards = SettlementAction { [self] in settle(as: ending, value: value, error: error) }
    if abandon(guarded, tag: 0, observer: afterwards, ThreadContext.current) {
      settle(as: ending, value: value, error: error)
    }
  }

  private func settle(as ending: OperationState.Ending, value: (any Sendable)?, error: (any Error)?) {
    (dependencies, unmet) = (nil, [])
    guardIsOver(as: ending, error: error)
    settleOwner(as: ending, value: value, error: error)
  }
}

extension Operation {
  /// Whether the operation will not run any more.
  fileprivate var isDecided: Bool {
    isCancelled || (self as? SettlingOperation)?.state.current.isSettled ?? isFinished
  }

  fileprivate var mayHaveDependencies: Bool {
    (self as? SettlingOperation)?.state.current.has(.hasDependencies) ?? true
  }
}

/// Does something when an operation has settled.
private final class SettlementAction: SettlementObserver {
  private let action: @Sendable () -> Void

  init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    action()
  }
}

/// Waits until a guard has back what it lent.
private final class ReturnGate: GateOperation, @unchecked Sendable {  // immutable
  private let lender: GuardSource

  init(_ lender: GuardSource) {
    self.lender = lender
    super.init()
  }

  override var purpose: String { "waits for its turn" }

  override func main() {
    if !lender.callWhenReturned({ [self] in finish() }) { finish() }
  }

  override func didCancel() {
    finish()
  }
}
