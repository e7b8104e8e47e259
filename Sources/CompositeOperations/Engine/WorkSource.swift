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
  var monitors: [any SourceMonitor] = []
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

/// The place in which a source's work runs: a lane's slot, or a worker.
protocol WorkSlot: AnyObject, Sendable {
  /// Called before a piece of work that may block starts, while there is more to do.
  func moreIsAvailable(in source: WorkSource)
  /// Called before an operation starts, which the slot is held for while it is in flight.
  func willStart(_ operation: Operation)
  /// Called when that operation has settled, after ``WorkResult/inFlight`` was returned for it.
  func operationDidSettle()
}

/// The result of one piece of work.
enum WorkResult {
  /// There was nothing to do. The source offers itself again when there is.
  case nothing
  /// The piece is done, or continues without the slot. There may be more.
  case done
  /// An operation that has not settled yet keeps the slot.
  case inFlight
}

/// A composition as the engine sees it: something that hands out work piece by piece.
///
/// When it has something to do and no thread works on it, it offers itself: to the lanes of its
/// queue if there is one, else to the workers. They take one piece after the other until there is
/// none, and do not come back until the source offers itself again. Several may take pieces at
/// once.
package class WorkSource: Composition, SettlementObserver, @unchecked Sendable {  // subclasses lock their state
  /// Set before the source first offers itself.
  @exclusivity(unchecked) final var environment = ExecutionEnvironment()
  /// The environment that a parent composition sets before it starts the owner.
  @exclusivity(unchecked) final var inherited: ExecutionEnvironment?
  /// The operation of the composition, while it executes. An unsettled child keeps the source as
  /// its observer, so the composition stays alive.
  @exclusivity(unchecked) private final var owner: SettlingOperation?
  /// Whether a worker waits in the dispatch queue in case the others are blocked.
  private final let hasStandby = Atomic(false)
  /// The children that wait for their dependencies.
  final let waits = LazyLockBox(Waits())
  /// Whether a child was refused because a circle of dependencies or a queue holds it.
  final let hasRefusals = Atomic(false)
  /// The monitors of the children.
  final let monitors = MonitorList()
  /// Whether the operation or one around it holds, or will hold when it continues, something that
  /// operations elsewhere may be waiting for. Lanes read it at any moment.
  final let isHolder = Atomic(false)

  // MARK: - What the owner tells of

  /// Called when the owner was started.
  func begin(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    begin()
  }

  /// Called when the owner was cancelled before it started: it settles when all children were
  /// settled without being run.
  final func unwind(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    unwind()
  }

  /// Begins to run the children in the bound environment.
  func begin() {
    preconditionFailure("abstract")
  }

  /// Settles the children without running them, and then the owner.
  ///
  /// If other code has settled the owner already, the source has no environment. The owner then
  /// does not wait for the children.
  func unwind() {
    preconditionFailure("abstract")
  }

  /// Called when the owner was cancelled while it executes.
  func cancel() {
    preconditionFailure("abstract")
  }

  /// Called when other code has settled the owner, so that the work is no longer needed.
  func ownerWasSettled() { cancel() }

  // MARK: - What the owner says of itself

  /// The kind of composition that the owner is, if its type does not tell.
  var form: OperationKind? { kind }

  /// The name that the owner takes from the wrapped operation, as far as it is known without
  /// calling an override.
  var nameAtHand: String? { nil }

  /// The operation whose name the owner takes otherwise, while it is known.
  var namesake: Operation? { nil }

  // MARK: - Work

  /// Takes one piece of work and runs it on the calling thread.
  func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    preconditionFailure("abstract")
  }

  /// Whether nothing can be handed out any more, unless the source offers itself again.
  var isExhausted: Bool { false }

  /// Called when a child has settled, or was settled without being run.
  package func operationDidSettle(_ operation: Operation, tag: Int) {
    preconditionFailure("abstract")
  }

  /// Called when the dependencies of a child have finished.
  func childBecameReady(_ tag: Int) {
    preconditionFailure("abstract")
  }

  /// Cancels the children that wait for their turn, like other code would.
  func cancelWaiting() {
    preconditionFailure("abstract")
  }

  /// Calls `body` with the current children: those that can still run, and perhaps some that have
  /// finished.
  package func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    preconditionFailure("abstract")
  }

  /// How the composition computes its progress from that of its children.
  var progressShape: ProgressShape { .inner }

  /// The operation whose progress a child stands for: the child, or nil if it only prepares the
  /// work. May be called on any thread.
  func work(standingFor child: Operation) -> Operation? { child }

  /// In a sequence, the number of earlier children that ``forEachChild(_:)`` no longer passes.
  package var pastCount: Int { 0 }

  /// In parallel, the tags of the succeeded children that ``forEachChild(_:)`` no longer passes.
  package var pastTags: [Int] { [] }

  /// Whether this composition is known to start the child.
  func owns(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// Records that this composition, not other code, starts a child. Returns false if it may no
  /// longer start.
  func childIsOwned(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// Records that the composition waits for a child that other code starts. Returns false if it no
  /// longer waits for any.
  func childIsJoined(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// Records that a child is about to wait for its dependencies. Returns false if it may no
  /// longer start.
  func childWillWait(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// The priority of the next piece of work, used by the queue that it waits in.
  var nextPriority: Operation.QueuePriority { .normal }

  // MARK: - Limits

  /// Whether the number of unfinished children is limited.
  var isLimiting: Bool { false }

  /// Whether the composition does something before one of the operations inside it can start.
  var beginsAtOnce: Bool { false }

  // MARK: - Places

  /// Gives the owner its place, when it starts: before what is started later. Does nothing the
  /// second time.
  func takePlace(_ number: () -> Int) {}

  /// Notes the place that the owner gets if a queue starts it, which it is perhaps being added to.
  ///
  /// - Parameter again: whether to replace the place that was noted before.
  func notePlaceInQueue(again: Bool) {}

  /// Returns the place of a child that the composition starts.
  func place(of tag: Int) -> Int { Place.next() }

  // MARK: - For drawings and timelines

  /// Whether the children are numbered from 0 and are all added when the composition starts.
  package var addsAllAtOnce: Bool { false }

  /// A snapshot of the operations in the composition. May be called on any thread.
  package var knownChildren: KnownChildren { KnownChildren() }

  /// The tag by which monitors know a child.
  func shownTag(_ tag: Int) -> Int { tag }

  /// The number of the attempt that a child is, from 1.
  package func attempt(of tag: Int) -> Int { 1 }

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
  /// - Parameter keeps: whether the source keeps the owner alive until it settles it.
  final func bind(to owner: SettlingOperation, queue: OperationQueue?, keeps: Bool = true) {
    if keeps { self.owner = owner }
    if let inherited { environment = inherited }
    inherited = nil
    if environment.held != nil { isHolder.store(true, ordering: .relaxed) }
    for monitor in environment.monitors { addMonitor(monitor, isInherited: true) }
    // A composition without one of its own inherits that of its parent, even if it is below the
    // default.
    let own = owner.state.current.has(.hasQualityOfService) ? owner.qualityOfService : environment.qualityOfService
    if own.urgency > environment.qualityOfService.urgency { environment.qualityOfService = own }
    if let queue, let tree = environment.tree {
      environment.pool = tree.pool(for: queue, qualityOfService: environment.qualityOfService)
    }
  }

  /// Settles the owner, at most once.
  final func settleOwner(as ending: OperationState.Ending, value: (any Sendable)? = nil, error: (any Error)? = nil) {
    assert(value == nil || ending == .success)
    let owner = self.owner.take()
    if let value { owner?.settle(value: value) } else { owner?.settle(as: ending, error: error) }
  }

  /// Whether the source settles the owner. False if other code settled the owner before it started.
  final var settlesOwner: Bool { owner != nil }

  /// The task-local values of the owner. Nil in a ``DrivenOperation``, whose driver binds values.
  ///
  /// Available until the source settles the owner: only for a thread that keeps it from that.
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

  /// The owner's name for errors. Available until the source settles the owner.
  final var ownerName: String? { owner?.name }

  /// Offers the source, which has something to do, to the lanes or workers.
  final func offer() {
    if let pool = environment.pool {
      pool.offer(self)
    } else {
      Workers.offer(self)
    }
  }

  /// Records that a standby is needed. Returns false if one waits already.
  ///
  /// - Parameter isLast: whether the caller leaves the source, and so must not rely on a stale
  ///   value.
  final func beginStandby(isLast: Bool = false) -> Bool {
    (isLast || !hasStandby.load(ordering: .relaxed)) && !hasStandby.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Records that the standby has become a worker.
  final func endStandby() {
    _ = hasStandby.exchange(false, ordering: .acquiringAndReleasing)
  }
}

extension SettlingOperation {
  /// The source that runs the children; nil if this is no composition.
  package final var source: WorkSource? { composition.map { unsafeDowncast($0, to: WorkSource.self) } }
}
