import Dispatch
import Foundation
import Synchronization

/// Where and how urgently the operations of a composition run.
struct ExecutionEnvironment: Sendable {
  var qualityOfService: QualityOfService = .default
  /// The lanes of the given queue; nil if none was given, so that workers run the operations.
  var pool: QueuePool?
  /// The state that the whole tree of compositions shares.
  var tree: ExecutionTree?
  /// The monitors of the children here and in compositions further inside.
  var monitors: [any CompositionMonitor] = []
  /// What the compositions around hold, exclusively or of a limit, the innermost first.
  var held: Reservation?
  /// The circuit breakers that have let a composition around pass.
  var breakers: [ObjectIdentifier] = []
  /// The nearest composition around with a limit, in which the compositions inside it take places.
  var limit: LimitAround?

  /// Begins a wait for something that operations elsewhere may hold. Returns the pool whose
  /// `waitEnds` ends it; nil if the root holds no slot.
  func waitBegins() -> QueuePool? { tree?.waitBegins(qualityOfService: qualityOfService) }
}

/// The place in which a composition's work runs: a lane's slot, or a worker.
protocol WorkSlot: AnyObject, Sendable {
  /// Called before a piece of work that may block starts, while there is more to do.
  func moreIsAvailable(in composition: Composition)
  /// Called before an operation starts, which the slot is held for while it is in flight.
  func willStart(_ operation: Operation)
  /// Called when that operation has settled, after ``WorkResult/inFlight`` was returned for it.
  func operationDidSettle()
}

/// The result of one piece of work.
enum WorkResult {
  /// There was nothing to do. The composition offers itself again when there is.
  case nothing
  /// The piece is done, or continues without the slot. There may be more.
  case done
  /// An operation that has not settled yet keeps the slot.
  case inFlight
}

/// The kernel of all compositions: it hands out work piece by piece.
///
/// When it has something to do and no thread works on it, it offers itself: to the lanes of its
/// queue if there is one, else to the workers. They take one piece after the other until there is
/// none, and do not come back until the composition offers itself again. Several may take pieces at
/// once.
///
/// The forms are direct subclasses. Each has one kind of table: *steps* run one child at a time, a
/// *list* has a fixed number of children in parallel, and the children of *tags* are added while
/// others run. The forms override the hooks below.
package class Composition: CompositionBase, SettlementObserver, @unchecked Sendable {  // the rest is locked or atomic
  /// What a form returns when it is asked for a child.
  enum Made {
    /// - Parameter tag: the tag that the driver gives the child.
    case run(Operation, tag: Int = 0)
    /// Run nothing more, and settle the owner.
    case settle(Verdict)
    /// There is nothing to run for this tag.
    case nothing
  }

  struct Traits: OptionSet {
    let rawValue: UInt8
    /// A child that other code starts is awaited. Without this it is an error.
    static let joins = Traits(rawValue: 1)
    /// The form is told when a plain child was refused, and decides what follows.
    static let seesRefusals = Traits(rawValue: 2)
    /// The composition does something before one of the operations inside it can start.
    static let beginsAtOnce = Traits(rawValue: 4)
    /// The owner stands in a line with others, in the order of their places.
    static let hasPlace = Traits(rawValue: 8)
    /// The first child of a list that succeeds settles the owner, which does not wait for the
    /// others.
    static let settlesAtOnce = Traits(rawValue: 16)
  }

  final let table: LockBox<ChildTable>
  final let tableKind: ChildTable.Kind
  /// Set before the composition first offers itself; guards add what they hold.
  @exclusivity(unchecked) final var environment = ExecutionEnvironment()
  /// The environment that a parent composition sets before it starts the owner.
  @exclusivity(unchecked) final var inherited: ExecutionEnvironment?
  /// The operation of the composition, while it executes. An unsettled child keeps the composition
  /// as its observer, so the composition stays alive.
  @exclusivity(unchecked) private final var owner: SettlingOperation?
  /// Set before the start.
  @exclusivity(unchecked) final var traits: Traits
  /// Whether a worker waits in the dispatch queue in case the others are blocked.
  private final let hasStandby = Atomic(false)
  /// Whether a child was refused because a circle of dependencies or a queue holds it.
  final let hasRefusals = Atomic(false)
  /// Whether the operation or one around it holds, or will hold when it continues, something that
  /// operations elsewhere may be waiting for. Lanes read it at any moment.
  final let isHolder = Atomic(false)
  /// The children that wait for their dependencies.
  final let waits = LazyLockBox(Waits())
  /// The monitors of the children.
  final let monitors = MonitorList()

  /// The kind of composition that the owner is, if its type does not tell.
  final let form: OperationKind?
  /// Steps: the operation that exists from the beginning. The striped lock guards it.
  @exclusivity(unchecked) final var wrapped: WrappedOperation
  /// Steps: whether the owner takes its name from children, and from which.
  final let takesName: Bool
  final let lastNamed: Int
  /// The composition that runs the guard of this one, which has not started. The striped lock
  /// guards it.
  @exclusivity(unchecked) final weak var guardRunner: Composition?
  /// Steps: the number of the last child, if that is known.
  @exclusivity(unchecked) final var lastTag = 0
  /// The number of the owner's ``Place``; 0 until it has one. In a list, that of the first child.
  private final let place = Atomic(0)
  /// The number that the owner gets if a queue starts it: that of the moment when it was added.
  private final let placeInQueue = Atomic(0)

  // A list.
  @exclusivity(unchecked) final var children: [Operation]
  final let count: Int
  /// Hands out the children of a list while there is no limit, and counts those that are done.
  @exclusivity(unchecked) final var dispenser: Dispenser
  /// Whether children are claimed one by one. Sequentially consistent, like the dispenser's count:
  /// when a child settles while a limit changes, one of the two threads sees the other's change.
  final let isLimited = Atomic(false)
  /// Whether the first success settles the composition.
  final let succeedsFirst: Bool
  /// Made when an operation inside a child begins to wait, if there is a limit.
  final let awaited = LazyLockBox(Awaited())

  /// - Parameters:
  ///   - showsKind: whether the kind is the type of the owner in descriptions.
  ///   - children: the children of a list; empty if the form makes each when it can run.
  init(
    _ kind: OperationKind, _ plan: ChildTable.Plan, _ traits: Traits, wrapping wrapped: WrappedOperation = .none,
    children: [Operation] = [], showsKind: Bool = true
  ) {
    table = LockBox { ChildTable(plan) }
    self.traits = traits
    form = showsKind ? kind : nil
    self.wrapped = wrapped
    (takesName, lastNamed) = (wrapped.takesName, wrapped.lastNamed)
    self.children = children
    switch plan {
    case .steps: (tableKind, count, succeedsFirst) = (.steps, 0, false)
    case .list(let count, let policy, _):
      (tableKind, self.count, succeedsFirst) = (.list, count, policy == .firstSuccess || policy == .hedge)
    case .tags: (tableKind, count, succeedsFirst) = (.tags, 0, false)
    }
    dispenser = Dispenser(count: count)
    super.init(kind)
  }

  deinit {
    ReleaseList.release(&wrapped.operation)
    if !children.isEmpty { ReleaseList.release(operations: &children) }
  }

  // MARK: - Hooks

  /// Called once, when the owner has started: on the thread of `start()`, under no lock. Returns
  /// false to settle the owner without running anything.
  func start(_ owner: SettlingOperation) -> Bool { true }

  /// Makes the next child. Called where the children run, under no lock: by one thread at a time in
  /// steps, else by several. A thrown error fails the composition, and a `CancellationError`
  /// cancels it; in a list, they count as the outcome of the child.
  ///
  /// - Parameters:
  ///   - tag: in steps the number of children so far, in a list the index, else the driver's tag.
  ///   - previous: the child before, which has ended.
  ///   - refusal: the error of a plain child, which does not know that it was refused.
  func make(_ tag: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    preconditionFailure("abstract")
  }

  /// Whether no child follows `child`, which has ended: the owner then settles on the thread that
  /// settles this child, without waiting for a slot. Called on that thread, under no lock.
  func isLast(_ child: Operation, tag: Int) -> Bool { tag == lastTag }

  /// Called once for each child with a tag that was made, when it has ended: on the thread that
  /// settled it, or a worker, under no lock. Returns the tags that can run in consequence.
  func ended(_ child: Operation, tag: Int) -> [Int] { preconditionFailure("abstract") }

  /// Settles the owner, after the last child, if any, has finished. Called once.
  ///
  /// - Parameter count: the number of steps so far.
  func conclude(_ verdict: Verdict, count: Int) { settleOwner(verdict) }

  /// Called when other code has settled the owner, so that the work is no longer needed.
  func ownerWasSettled() { cancel() }

  /// Releases what is only needed to make children: `make` is not called again. Returns the
  /// operation of the first step if it exists and was not handed out: it is settled without being
  /// run. May be called twice.
  func discard() -> Operation? { takeWrapped() }

  /// How the composition computes its progress from that of its children.
  var progressShape: ProgressShape { tableKind == .list ? .parallel(count: count) : .inner }

  /// The operation whose progress a child stands for: the child, or nil if it only prepares the
  /// work. May be called on any thread.
  func work(standingFor child: Operation) -> Operation? {
    tableKind == .steps && child is DelayOperation ? nil : child
  }

  /// A snapshot of the operations in the composition, for drawings. May be called on any thread.
  package var knownChildren: KnownChildren { currentChildren }

  /// The number of the attempt that a child is, from 1. Timelines ask when the child has ended.
  package func attempt(of tag: Int) -> Int { 1 }

  // MARK: - What the owner tells of

  /// Called when the owner was started.
  final func begin(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    if traits.contains(.hasPlace) {
      takePlace { environment.tree?.heldQueue == nil ? Place.next() : placeInQueue.load(ordering: .relaxed) }
    }
    begin(cancelled: !start(owner))
  }

  /// Called when the owner was cancelled before it started: it settles when all children were
  /// settled without being run.
  final func unwind(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    begin(cancelled: true)
  }

  /// Settles the children without running them, after other code has settled the owner. The
  /// composition has no environment, and the owner does not wait for the children.
  final func unwind() { begin(cancelled: true) }

  private final func begin(cancelled: Bool) {
    if tableKind == .steps { beginSteps(cancelled: cancelled) } else { beginList(cancelled: cancelled) }
  }

  /// Called when the owner was cancelled while it executes.
  final func cancel() {
    switch tableKind {
    case .steps: cancelSteps()
    case .list: cancelList()
    case .tags: closeTags()
    }
  }

  // MARK: - Work

  /// Takes one piece of work and runs it on the calling thread.
  func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    tableKind == .steps ? runSteps(in: slot, context) : runChild(in: slot, context)
  }

  /// Whether everything was handed out, unless the composition offers itself again.
  final var isExhausted: Bool { table.withLock { $0.isExhausted } }

  /// Called when a child has settled, or was settled without being run.
  package func operationDidSettle(_ operation: Operation, tag: Int) {
    switch tableKind {
    case .steps: if case .next = stepEnded(operation, tag, claiming: false) { offer() }
    case .list:
      if joins, !table.withLock({ $0.leave(tag) }) { return }
      childEnded(tag, operation)
      if isLimited.load(ordering: .sequentiallyConsistent) { offerAll() }
    case .tags: taggedChildEnded(tag, operation, comesBack: false)
    }
  }

  /// Called when the dependencies of a child have finished.
  final func childBecameReady(_ tag: Int) {
    let child = existing(tag)
    let priority = child?.queuePriority ?? .normal
    let needsSlot = tableKind != .list || environment.pool == nil || child?.needsSlot != false
    guard table.withLock({ $0.unpark(tag, priority: priority, needsSlot: needsSlot) }) else { return }
    if tableKind == .list, let child = child as? SettlingOperation, let circle = circleOfPlaces(through: child) {
      // What waits for it in the places continues.
      let error = child.failure(unrunBecauseOf: OperationError(circle: circle, endsInPlace: true))
      if OperationContext.isUsed { passContext(to: child) }
      ThreadContext.current.runUserCode { _ = child.settle(as: .failure, error: error) }
    }
    if needsSlot { offer() } else { callStarter() }
  }

  /// Cancels the children that wait for their turn, like other code would.
  final func cancelWaiting() {
    let context = ThreadContext.current
    switch tableKind {
    case .steps:
      let (waiting, tag) = table.withLock { ($0.cancelWaitingStep(), $0.stepCount) }
      if let waiting { cancelWaiting(waiting, isOurs: isOurs(tag), context) }
    case .list: cancelWaitingInList(context)
    case .tags:
      let waiting = table.withLock { table in
        table.cancelTags()
        return table.entries.filter { $0.phase == .ready }
      }
      for entry in waiting { cancelWaiting(entry.child!, isOurs: true, context) }
    }
  }

  // MARK: - Children

  final var joins: Bool { traits.contains(.joins) }

  /// Whether this composition is known to start the child.
  final func isOurs(_ tag: Int) -> Bool {
    let phase = table.withLock { $0.phase(of: tag) }
    return !joins || phase == .ours || phase.isHeld
  }

  /// Returns a child if it was made and not yet released.
  final func existing(_ tag: Int) -> Operation? {
    if tableKind == .list, !children.isEmpty { return children[tag] }
    return table.withLock { table in
      switch tableKind {
      case .steps: table.step.handle == tag ? table.step.child : nil
      case .list: table.madeChild(tag)
      case .tags: table.child(tag)
      }
    }
  }

  /// Calls `body` with the current children, by the tag that monitors see: those that can still
  /// run, and perhaps some that have finished.
  package final func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    if tableKind == .list, !children.isEmpty {
      for (tag, child) in children.enumerated() { body(child, tag) }
      return
    }
    let current: [(Int, Operation)] = table.withLock { table in
      switch tableKind {
      case .steps: table.step.child.map { [(table.stepCount, $0)] } ?? []
      case .list: table.childrenMade
      case .tags: table.entries.map { (ChildTable.number(of: $0.handle), $0.child!) }
      }
    }
    for (tag, child) in current { body(child, tag) }
  }

  /// The children that are there now, and the wrapped operation.
  final var currentChildren: KnownChildren {
    guard tableKind == .steps else {
      var known = KnownChildren()
      forEachChild { child, _ in known.contents.append(child) }
      return known
    }
    let step = table.withLock { $0.step }
    guard let current = step.child else {
      return wrappedOperation.map { KnownChildren(contents: [$0]) } ?? KnownChildren(earlier: step.handle)
    }
    guard let wrapped = wrappedOperation else {
      return KnownChildren(contents: [current], earlier: max(0, step.handle - 1))
    }
    return KnownChildren(contents: current === wrapped ? [wrapped] : [current, wrapped])
  }

  /// In a sequence, the number of earlier children that ``forEachChild(_:)`` no longer passes.
  package final var pastCount: Int {
    guard tableKind == .steps else { return 0 }
    return table.withLock { max(0, $0.step.child == nil ? $0.stepCount : $0.stepCount - 1) }
  }

  /// In parallel, the tags of the succeeded children that ``forEachChild(_:)`` no longer passes.
  package final var pastTags: [Int] {
    guard tableKind == .list, children.isEmpty else { return [] }
    return table.withLock { table in
      let values = table.endings.values
      return values.isEmpty ? Array(0..<count) : values.indices.filter { values[$0] != nil }
    }
  }

  /// The tag by which monitors know a child.
  @inline(__always)
  final func shownTag(_ tag: Int) -> Int { tableKind == .tags ? ChildTable.number(of: tag) : tag }

  /// Whether the children are numbered from 0 and are all added when the composition starts.
  package final var addsAllAtOnce: Bool { tableKind == .list && children.count == count }

  /// The priority of the next piece of work, used by the queue that it waits in.
  final var nextPriority: Operation.QueuePriority {
    if tableKind == .steps { return table.withLock { $0.step.child }?.queuePriority ?? .normal }
    return table.withLock { $0.firstPriority } ?? .normal
  }

  /// Whether the number of unfinished children is limited.
  final var isLimiting: Bool {
    switch tableKind {
    case .steps: false
    case .list: isLimited.load(ordering: .relaxed)
    case .tags: table.withLock { $0.width < .max }
    }
  }

  /// Whether the number of children is fixed, and they run in parallel.
  final var isList: Bool { tableKind == .list }

  // MARK: - Places

  /// Gives the owner its place, when it starts: before what is started later. Does nothing the
  /// second time.
  final func takePlace(_ number: () -> Int) {
    if traits.contains(.hasPlace), ownPlace == 0 { place.store(number(), ordering: .relaxed) }
  }

  final var ownPlace: Int { place.load(ordering: .relaxed) }

  /// Notes the place that the owner gets if a queue starts it, which it is perhaps being added to.
  ///
  /// - Parameter again: whether to replace the place that was noted before.
  final func notePlaceInQueue(again: Bool) {
    guard traits.contains(.hasPlace), again || placeInQueue.load(ordering: .relaxed) == 0 else { return }
    placeInQueue.store(Place.next(), ordering: .relaxed)
  }

  /// Returns the place of a child that the composition starts.
  final func place(of tag: Int) -> Int {
    guard tableKind == .list else { return Place.next() }
    var first = ownPlace
    if first == 0 {
      let new = Place.next(count)
      let (isFirst, earlier) = place.compareExchange(expected: 0, desired: new, ordering: .relaxed)
      first = isFirst ? new : earlier
    }
    return first + tag
  }

  // MARK: - Owner

  override final func ownerWillStart(_ owner: SettlingOperation) {
    tellWillBegin()
    if inherited == nil {
      inherited = ExecutionEnvironment(qualityOfService: qualityOfService(of: owner), tree: ExecutionTree(root: owner))
    }
  }

  override final func content(awaitedBy owner: SettlingOperation) -> Operation? {
    unstartedContent(awaitedBy: owner)
  }

  /// The owner's own quality of service, or that of the queue that is starting it.
  private func qualityOfService(of owner: SettlingOperation) -> QualityOfService {
    let state = owner.state.current
    if state.has(.hasQualityOfService) || !state.has(.readinessWasRead) { return owner.qualityOfService }
    return QualityOfService.ofExecutingQueue ?? .default
  }

  /// Determines where the children run, when the owner was started.
  ///
  /// - Parameter keeps: whether the composition keeps the owner alive until it settles it.
  final func bind(to owner: SettlingOperation, queue: OperationQueue?, keeps: Bool = true) {
    if keeps { self.owner = owner }
    if let inherited { environment = inherited }
    inherited = nil
    if environment.held != nil { becomeHolder() }
    for monitor in environment.monitors { addMonitor(monitor, isInherited: true) }
    // A composition without one of its own inherits that of its parent, even if it is below the
    // default.
    let own = owner.state.current.has(.hasQualityOfService) ? owner.qualityOfService : environment.qualityOfService
    if own.urgency > environment.qualityOfService.urgency { environment.qualityOfService = own }
    if let queue, let tree = environment.tree {
      environment.pool = tree.pool(for: queue, qualityOfService: environment.qualityOfService)
    }
  }

  /// Notes that operations elsewhere may wait for something that this composition holds.
  final func becomeHolder() { isHolder.store(true, ordering: .relaxed) }

  /// Settles the owner, at most once.
  final func settleOwner(_ verdict: Verdict) {
    let owner = self.owner.take()
    switch verdict {
    case .success(let value?): owner?.settle(value: value)
    case .success(nil): owner?.settle(as: .success)
    case .failure(let error): owner?.settle(as: .failure, error: error)
    case .cancelled: owner?.settle(as: .cancelled)
    case .failures, .winner: preconditionFailure("The form has not said what \(verdict) means for the owner")
    }
  }

  /// Whether the composition settles the owner. False if other code settled the owner before it
  /// started.
  final var settlesOwner: Bool { owner != nil }

  /// The task-local values of the owner. Nil in a ``DrivenOperation``, whose driver binds values.
  ///
  /// Available until the composition settles the owner: only for a thread that keeps it from that.
  final var ownerContext: ContextValues? { owner?.context }

  /// Gives a child the values of the owner, where the child has none.
  @inline(never)
  final func passContext(to child: SettlingOperation) { child.inheritContext(ownerContext) }

  /// Runs user code for the owner.
  @inline(__always)
  final func runUserCode<R, Failure: Error>(
    _ context: ThreadContext, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    try context.runUserCode(in: ownerContext, body)
  }

  /// The owner's name for errors. Available until the composition settles the owner.
  final var ownerName: String? { owner?.name }

  /// Offers the composition, which has something to do, to the lanes or workers.
  final func offer() {
    if let pool = environment.pool {
      pool.offer(self)
    } else {
      Workers.offer(self)
    }
  }

  /// Records that a standby is needed. Returns false if one waits already.
  ///
  /// - Parameter isLast: whether the caller leaves the composition, and so must not rely on a stale
  ///   value.
  final func beginStandby(isLast: Bool = false) -> Bool {
    (isLast || !hasStandby.load(ordering: .relaxed)) && !hasStandby.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Records that the standby has become a worker.
  final func endStandby() {
    _ = hasStandby.exchange(false, ordering: .acquiringAndReleasing)
  }
}

/// How a composition ends.
enum Verdict {
  /// - Parameter value: the value; nil for `()`.
  case success((any Sendable)?)
  case failure(any Error)
  case cancelled
  /// In a list: the failures in the order in which they happened; never empty.
  case failures([ListEndings.Failure])
  /// In a list: the first child that succeeded.
  case winner(Int)

  /// The ending of an operation.
  init(of operation: Operation) {
    switch operation.anyOutcome {
    case .success(let value): self = .success(value)
    case .failure(let error): self = .failure(error)
    case .cancelled, nil: self = .cancelled
    }
  }

  /// The ending after an error that was thrown.
  init(thrown error: any Error) { self = error is CancellationError ? .cancelled : .failure(error) }
}

extension Composition.Made {
  /// Settles the owner as `operation` has ended.
  static func settleLike(_ operation: Operation) -> Self { .settle(Verdict(of: operation)) }
}

extension SettlingOperation {
  /// The composition that runs the children; nil if this is no composition.
  package final var composition: Composition? { compositionBase.map { unsafeDowncast($0, to: Composition.self) } }
}
