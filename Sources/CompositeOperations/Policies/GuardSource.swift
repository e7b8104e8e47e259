import Foundation

/// What decides whether and when an operation may run. Each guard belongs to one operation, and one
/// thread at a time uses it.
protocol OperationGuard {
  var kind: OperationKind { get }

  /// Called inside `start()` if there is no dependency to wait for.
  mutating func arrive(in source: GuardSource, for guarded: Operation)

  /// Returns the next step before the operation; nil if the operation may run. Called where
  /// operations run.
  ///
  /// - Parameter previous: the step that was returned last, which has settled; nil at first.
  mutating func next(in source: GuardSource, for guarded: Operation, after previous: Operation?) -> WorkSource.Made?

  /// Called when the last child has finished, just before the owner settles.
  mutating func isOver(in source: GuardSource, _ verdict: Verdict)
}

extension OperationGuard {
  func arrive(in source: GuardSource, for guarded: Operation) {}
}

/// Runs one operation after its guard: the form of `condition`, `exclusive`, `limited` and
/// `guarded`.
///
/// The source waits for the operation's dependencies. Then it runs the steps that the guard puts
/// before the operation, and the operation last. If the source ends before the operation starts, it
/// settles the operation without running it.
final class GuardSource: WorkSource, @unchecked Sendable {  // only the thread that begins, asks or ends uses the fields
  private enum Stage {
    case new
    /// Waiting for the operation's dependencies.
    case waiting
    /// Running the steps that the guard puts before the operation.
    case guarding
    /// The operation was handed out, or settled without being run.
    case done
  }

  private var stage = Stage.new
  /// The operation and those inside its guards, the innermost last, until the wait for their
  /// dependencies is over; and whether this source or a guard inside starts each.
  private var chain: [(operation: Operation, isOurs: Bool)] = []
  /// The dependencies of the owner.
  private var dependenciesOfOwner: [Operation] = []
  /// What was waited for; nil if nothing was. Of nested guards, the outermost one waits for the
  /// dependencies of all, and shares this with the others. So no guard holds anything while it
  /// waits for dependencies.
  private var waited: Waited?
  /// Whether this source starts the operation. If not, other code starts it, and this source only
  /// waits for it.
  private(set) var isOurs = false
  /// Whether this guard is inside another one, which waits first.
  private var isInside = false
  /// Whether this guard has waited itself.
  private var hasWaited = false
  /// Whether an outer guard is taking over the operation of this guard. The striped lock guards
  /// this field and `whenReturned`.
  private var isLent = false
  /// Called when the outer guard has returned the operation.
  private var whenReturned: [@Sendable () -> Void] = []
  private var guardian: any OperationGuard

  /// The dependencies of nested guards, which the outermost one notes before the others run.
  private final class Waited {
    var dependencies: [Operation] = []
  }

  /// The dependencies of the owner and of the operation, once the wait for them is over.
  var dependencies: [Operation] { waited?.dependencies ?? dependenciesOfOwner }

  init(_ guarded: Operation, _ guardian: any OperationGuard) {
    self.guardian = guardian
    super.init(guardian.kind, .steps(), .hasPlace, wrapping: WrappedOperation(guarded))
  }

  override func start(_ owner: SettlingOperation) -> Bool {
    if waited == nil, owner.mayHaveDependencies { dependenciesOfOwner = owner.dependencies }
    let guarded = StripedLock.withLock(of: self) { isLent ? nil : wrapped.operation }
    guard let guarded, !guarded.isDecided else { return true }
    if stage == .new { takeOver(guarded) }
    if !guarded.isDecided, unmet == nil { guardian.arrive(in: self, for: guarded) }
    return true
  }

  private func takeOver(_ guarded: Operation) {
    isOurs = guarded.takeOver()
    stage = .waiting
    lookInside(guarded)
  }

  /// Finds the guards inside the operation, takes over their operations, and collects all
  /// dependencies.
  ///
  /// Other code may settle an inner guard meanwhile. So the inner guard lends its operation, and
  /// the thread that ends this guard leaves a lent operation alone.
  private func lookInside(_ guarded: Operation) {
    var lent: [(source: GuardSource, operation: Operation, isOurs: Bool)] = []
    var (operation, isOurs) = (guarded, isOurs)
    while true {
      guard isOurs, let source = (operation as? SettlingOperation)?.source as? GuardSource, let next = source.lend()
      else { break }
      isOurs = next.takeOver()
      lent.append((source, next, isOurs))
      operation = next
    }
    // Usually there is nothing to wait for, and nothing to allocate. `afterWaiting` looks again.
    if guarded.mayHaveDependencies || !lent.isEmpty {
      chain = [(guarded, self.isOurs)] + lent.map { ($0.operation, $0.isOurs) }
    }
    guard !lent.isEmpty else { return }
    let waited = Waited()
    self.waited = waited
    for (source, operation, isOurs) in lent where !source.takeBack(isOurs: isOurs, waited) && isOurs {
      _ = abandon(operation, tag: 0, observer: SettlementAction {}, ThreadContext.current)
    }
  }

  /// Notes the dependencies that were waited for, which may have changed meanwhile. Those of guards
  /// around this one were noted by the outermost, unless this one has found further ones.
  private func noteDependencies() {
    guard !chain.isEmpty, !isInside || hasWaited else { return }
    let all = chain.map(\.operation).filter(\.mayHaveDependencies).flatMap(\.dependencies)
    let known = isInside ? Set(dependencies.map(ObjectIdentifier.init)) : []
    let noted = (isInside ? dependencies : dependenciesOfOwner) + all.filter { !known.contains(ObjectIdentifier($0)) }
    if isInside || waited == nil { waited = Waited() }
    waited?.dependencies = noted
  }

  /// The innermost operation that still waits for dependencies; nil if none does. What is decided
  /// waits for none, nor does what is inside of it.
  private var unmet: Int? {
    chain.prefix { !$0.operation.isDecided }
      .lastIndex { $0.operation.mayHaveDependencies && DependencyWait.isNeeded(for: $0.operation) }
  }

  private func lend() -> Operation? {
    StripedLock.withLock(of: self) {
      guard let operation = wrapped.operation, stage == .new else { return nil }
      isLent = true
      return operation
    }
  }

  /// Returns false if other code ended this guard meanwhile. Then the caller settles the operation.
  private func takeBack(isOurs: Bool, _ waited: Waited) -> Bool {
    var whenReturned: [@Sendable () -> Void] = []
    let goesOn = StripedLock.withLock(of: self) {
      isLent = false
      swap(&whenReturned, &self.whenReturned)
      guard wrapped.operation != nil else { return false }
      self.isOurs = isOurs
      self.waited = waited
      isInside = true
      stage = .waiting
      return true
    }
    for action in whenReturned { action() }
    return goesOn
  }

  /// Calls `action` when the operation of this guard is returned. Returns false if it is not lent.
  func callWhenReturned(_ action: @escaping @Sendable () -> Void) -> Bool {
    StripedLock.withLock(of: self) {
      if isLent { whenReturned.append(action) }
      return isLent
    }
  }

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    let (operation, isLent) = StripedLock.withLock(of: self) { (wrapped.operation, self.isLent) }
    // Happens only if the program starts an operation that it has composed.
    if isLent { return .run(ReturnGate(self)) }
    guard let guarded = operation else { return .settle(.cancelled) }
    switch stage {
    case .new:
      takeOver(guarded)
      return afterWaiting(for: guarded, count)
    case .waiting:
      // The gate was cancelled, by `cancelAllOperations()` for example.
      if previous?.isCancelled == true { return .settle(.cancelled) }
      return afterWaiting(for: guarded, count)
    case .guarding:
      return afterGuarding(guarded, previous, count)
    case .done:
      return .settleLike(guarded)
    }
  }

  private func afterWaiting(for guarded: Operation, _ count: Int) -> Made {
    // One may have been added since the operation was taken over.
    if chain.isEmpty, guarded.mayHaveDependencies { chain = [(guarded, isOurs)] }
    // All of them each time: a dependency may have been added to one that has waited.
    if let unmet {
      hasWaited = true
      let deciding = chain[...unmet].filter(\.isOurs).map(\.operation)
      return .run(DependencyGate(of: chain[unmet].operation, isOurs: chain[unmet].isOurs, deciding: deciding))
    }
    noteDependencies()
    chain = []
    stage = .guarding
    return afterGuarding(guarded, nil, count)
  }

  private func afterGuarding(_ guarded: Operation, _ previous: Operation?, _ count: Int) -> Made {
    // Other code may have added it to a queue since it was taken over, which starts it.
    if isOurs, (guarded as? SettlingOperation)?.waitsInQueue ?? guarded.isInQueue { isOurs = false }
    // An operation that was cancelled needs no further guard, nor one that this source would start
    // and that other code has settled.
    let isOver = isOurs ? guarded.isDecided : guarded.isCancelled
    if !isOver, let step = guardian.next(in: self, for: guarded, after: previous) { return step }
    stage = .done
    lastTag = count + 1
    return .run(isOurs ? guarded : SettlementGate(of: guarded))
  }

  /// Nil: ``conclude(_:count:)`` settles the operation.
  override func discard() -> Operation? { nil }

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

  override func conclude(_ verdict: Verdict, count: Int) {
    if let wrapped = wrappedOperation { noteName(of: wrapped, tag: 1) }
    let (operation, isLent) = StripedLock.withLock(of: self) { (wrapped.operation.take(), self.isLent) }
    guard let guarded = operation, !isLent, stage != .done, stage == .new ? guarded.takeOver() : isOurs else {
      return settle(verdict)
    }
    stage = .done
    let afterwards = SettlementAction { [self] in settle(verdict) }
    if abandon(guarded, tag: 0, observer: afterwards, ThreadContext.current) { settle(verdict) }
  }

  private func settle(_ verdict: Verdict) {
    (dependenciesOfOwner, waited, chain) = ([], nil, [])
    guardian.isOver(in: self, verdict)
    settleOwner(verdict)
  }
}

extension Operation {
  /// Whether the operation was cancelled or has ended. Another thread may still be storing the
  /// outcome, but the gates before the operation have ended by then.
  fileprivate var isDecided: Bool {
    isCancelled || (self as? SettlingOperation).map { $0.state.current.phase > .executing } ?? isFinished
  }

  fileprivate var mayHaveDependencies: Bool {
    (self as? SettlingOperation)?.state.current.has(.hasDependencies) ?? true
  }
}

/// A gate that waits until a guard has its operation back.
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
