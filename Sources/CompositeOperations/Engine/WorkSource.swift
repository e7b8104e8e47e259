import Dispatch
import Foundation
import Synchronization

/// Where and how urgently the operations of a composition run.
struct ExecutionEnvironment: Sendable {
  var qualityOfService: QualityOfService = .default
  /// The lanes of the given queue; nil where no queue was given, and workers run the operations.
  var pool: QueuePool?
  /// What the whole tree of compositions shares.
  var tree: ExecutionTree?
  /// Who is told of the children here and further inside.
  var monitors: [any SourceMonitor] = []
  /// What the operations around hold, exclusively or of a limit, the innermost first.
  var held: HeldClaim?

  /// The tree begins to wait for something that operations elsewhere may hold. Returns the pool to tell when it need no
  /// longer; nil where the root holds no slot.
  func waitBegins() -> QueuePool? { tree?.waitBegins(qualityOfService: qualityOfService) }
}

/// Who carries the pieces of work of a source out.
protocol WorkSlot: AnyObject, Sendable {
  /// Called before a piece of work starts that may block, while there is more to do.
  func moreIsAvailable(in source: WorkSource)
  /// The operation that the slot is held for, as long as it is in flight.
  func willStart(_ operation: Operation)
  /// That operation has settled, after ``WorkResult/inFlight`` was returned for it.
  func operationDidSettle()
}

/// What became of one piece of work.
enum WorkResult {
  /// There is nothing to do now. The source offers itself again when there is.
  case nothing
  /// It is done, or goes on without needing the slot. There may be more.
  case done
  /// An operation that has not settled yet needs the slot.
  case inFlight
}

/// A composition as the engine sees it: something that hands out work piece by piece.
///
/// Whenever it has something to do and is not being attended to, it offers itself: to the lanes of its queue if there
/// is one, else to the workers. They take one piece after the other until there is nothing, and do not come back until
/// the source offers itself again. Several may take pieces at once.
package class WorkSource: Composition, SettlementObserver, @unchecked Sendable {  // subclasses lock their state
  /// Set before the source first offers itself.
  @exclusivity(unchecked) final var environment = ExecutionEnvironment()
  /// What a parent composition hands down before it starts the owner.
  @exclusivity(unchecked) final var inherited: ExecutionEnvironment?
  /// The operation that stands for the composition, while it executes. Whoever can still settle a child holds the
  /// source as its observer, and so the composition stays alive.
  @exclusivity(unchecked) private final var owner: SettlingOperation?
  /// Whether a worker waits in the dispatch queue in case that the others are blocked.
  private final let hasStandby = Atomic(false)
  /// The children that wait for their dependencies.
  final let waits = LazyLockBox(Waits())
  /// Whether children were found that wait for each other.
  final let hasCircles = Atomic(false)
  /// Who is told of the children.
  final let monitors = MonitorList()
  /// Whether the operation, or one around it, holds something that operations elsewhere may be waiting for, or will when it
  /// goes on. Lanes look at it at any moment.
  final let isHolder = Atomic(false)

  // MARK: - What the owner tells of

  /// The owner has been started.
  func begin(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    begin()
  }

  /// The owner was cancelled before it started: it settles when all children have been settled without being run.
  final func unwind(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    unwind()
  }

  /// Begins to run the children, where this is bound to.
  func begin() {
    preconditionFailure("abstract")
  }

  /// Settles the children without running them, and then the owner.
  ///
  /// If other code has settled the owner already, the source is not bound to a place to run: a parent composition may be
  /// handing one down at this moment. The owner then does not wait for the children.
  func unwind() {
    preconditionFailure("abstract")
  }

  /// The owner has been cancelled while it executes.
  func cancel() {
    preconditionFailure("abstract")
  }

  /// Other code has settled the owner, so the work is no longer needed.
  func ownerWasSettled() { cancel() }

  // MARK: - What the owner says of itself

  /// What made the owner, where its type does not say it.
  var form: OperationKind? { kind }

  /// The name that the owner has from what it was made from, as far as it is known without asking for it.
  var nameAtHand: String? { nil }

  /// The operation whose name the owner has else, while it is known.
  var namesake: Operation? { nil }

  // MARK: - Work

  /// Takes one piece of work and carries it out, on the calling thread.
  func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    preconditionFailure("abstract")
  }

  /// A child has settled, or has been dealt with.
  package func operationDidSettle(_ operation: Operation, tag: Int) {
    preconditionFailure("abstract")
  }

  /// The dependencies of a child have finished.
  func childBecameReady(_ tag: Int) {
    preconditionFailure("abstract")
  }

  /// Cancels the children that wait for their turn, as somebody from outside would.
  func cancelWaiting() {
    preconditionFailure("abstract")
  }

  /// Calls `body` with the children there are: those that can still run, and perhaps some that have finished.
  package func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    preconditionFailure("abstract")
  }

  /// Holds back the children that wait for their turn, or lets them go; apart from what the user suspends.
  func setHeld(_ isHeld: Bool) {}

  /// How the progress of the composition follows from that of its children.
  var progressShape: ProgressShape { .inner }

  /// The operation whose progress a child stands for: itself; or nil, if it only comes before the work. May be called on
  /// any thread.
  func work(standingFor child: Operation) -> Operation? { child }

  /// How many children there have been that ``forEachChild(_:)`` does not give any more, where one comes after the other.
  var pastCount: Int { 0 }

  /// The tags of the children that have succeeded and that ``forEachChild(_:)`` does not give any more, where they run in
  /// parallel.
  var pastTags: [Int] { [] }

  /// Whether a child is known to be this composition's to start.
  func owns(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// A child that somebody else might have started is this composition's to start. False if none may start any more.
  func childIsOwned(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// A child that somebody else starts, or has started, is waited for. False if none is any more.
  func childIsJoined(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// A child is about to wait for its dependencies. False if no child may start any more.
  func childWillWait(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  /// The priority of the next piece of work, for the queue that it waits in.
  var nextPriority: Operation.QueuePriority { .normal }

  // MARK: - Places

  /// The owner was added to a queue, or a composition is starting it: it has its place before what is added or started later.
  /// Does nothing the second time.
  func takePlace(_ number: () -> Int) {}

  /// The place of a child that the composition starts.
  func place(of tag: Int) -> Int { Place.next() }

  // MARK: - For drawings and timelines

  /// Whether the children are numbered from 0 on and all come at once, when the composition starts.
  package var addsAllAtOnce: Bool { false }

  /// What is known of the operations in it at this moment. May be called on any thread.
  package var knownChildren: KnownChildren { KnownChildren() }

  /// Which attempt at the same work a child is, from 1.
  package func attempt(of tag: Int) -> Int { 1 }

  // MARK: - Owner

  override final func ownerWillStart(_ owner: SettlingOperation) {
    tellWillBegin()
    if inherited == nil {
      inherited = ExecutionEnvironment(qualityOfService: qualityOfService(of: owner), tree: ExecutionTree(root: owner))
    }
  }

  /// The owner's own, or that of the queue that is starting it.
  private func qualityOfService(of owner: SettlingOperation) -> QualityOfService {
    let state = owner.state.current
    if state.has(.hasQualityOfService) || !state.has(.readinessWasRead) { return owner.qualityOfService }
    return QualityOfService.ofExecutingQueue ?? .default
  }

  /// The owner has been started: work out where the children run.
  ///
  /// - Parameter keeps: whether the source keeps the owner alive, until it settles it.
  final func bind(to owner: SettlingOperation, queue: OperationQueue?, keeps: Bool = true) {
    if keeps { self.owner = owner }
    if let inherited { environment = inherited }
    inherited = nil
    if environment.held != nil { isHolder.store(true, ordering: .relaxed) }
    for monitor in environment.monitors { addMonitor(monitor, isInherited: true) }
    // One that has none of its own has that of the composition around it, also if this is less than the default.
    let own = owner.state.current.has(.hasQualityOfService) ? owner.qualityOfService : environment.qualityOfService
    if own.urgency > environment.qualityOfService.urgency { environment.qualityOfService = own }
    if let queue, let tree = environment.tree {
      environment.pool = tree.pool(for: queue, qualityOfService: environment.qualityOfService)
    }
  }

  /// Ends the owner.
  final func settleOwner(as ending: OperationState.Ending, value: (any Sendable)? = nil, error: (any Error)? = nil) {
    let owner = self.owner.take()
    owner?.settle(as: ending, value: value, error: error)
  }

  /// Whether the source settles the owner. False if other code settled the owner before it started.
  final var settlesOwner: Bool { owner != nil }

  /// What the operation is called in errors. For those who end it.
  final var ownerName: String? { owner?.name }

  /// There is something to do.
  final func offer() {
    if let pool = environment.pool {
      pool.offer(self)
    } else {
      Workers.offer(self)
    }
  }

  /// A standby is needed. False if one waits already.
  ///
  /// - Parameter isLast: whether the caller looks at the source no more, and so must not read what was true a moment ago.
  final func beginStandby(isLast: Bool = false) -> Bool {
    (isLast || !hasStandby.load(ordering: .relaxed)) && !hasStandby.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// The standby has become a worker like the others.
  final func endStandby() {
    _ = hasStandby.exchange(false, ordering: .acquiringAndReleasing)
  }
}

extension SettlingOperation {
  /// What runs the children, in compositions.
  package final var source: WorkSource? { composition.map { unsafeDowncast($0, to: WorkSource.self) } }
}
