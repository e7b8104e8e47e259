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
class WorkSource: SettlementObserver, @unchecked Sendable {  // subclasses keep their state in lock boxes
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
  private final let waits = LockBox<[Int: DependencyWait]>([:])
  /// How often plain children were looked at that are not ready for no known reason.
  private final let polls = LockBox<[Int: Int]>([:])

  /// Takes one piece of work and carries it out, on the calling thread.
  func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    preconditionFailure("abstract")
  }

  /// A child has settled, or has been dealt with.
  func operationDidSettle(_ operation: Operation, tag: Int) {
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

  /// Whether it says that more is available whenever that is so, so that a worker can leave it at any time.
  var keepsStandby: Bool { true }

  /// The priority of the next piece of work, for the queue that it waits in.
  var nextPriority: Operation.QueuePriority { .normal }

  // MARK: - Owner

  /// The owner is being started, on this thread; its `main` may go on on another.
  final func ownerWillStart(_ owner: SettlingOperation) {
    if inherited == nil {
      inherited = ExecutionEnvironment(qualityOfService: owner.qualityOfService, tree: ExecutionTree(root: owner))
    }
  }

  /// The owner has been started: work out where the children run.
  ///
  /// - Parameter keeps: whether the source keeps the owner alive, until it settles it.
  final func bind(to owner: SettlingOperation, queue: OperationQueue?, keeps: Bool = true) {
    if keeps { self.owner = owner }
    if let inherited { environment = inherited }
    inherited = nil
    let own = owner.qualityOfService
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

  /// There is something to do.
  final func offer() {
    if let pool = environment.pool {
      pool.offer(self)
    } else {
      Workers.offer(self)
    }
  }

  /// A standby is needed. False if one waits already.
  final func beginStandby() -> Bool {
    !hasStandby.load(ordering: .relaxed) && !hasStandby.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// The standby has become a worker like the others.
  final func endStandby() {
    hasStandby.store(false, ordering: .releasing)
  }

  // MARK: - Children

  enum Launch {
    /// It has finished.
    case finished
    /// It needs the slot, and tells this source when it has finished.
    case inFlight
    /// It needs no slot, and tells this source when it has finished, or its dependencies have: it is a composition, or
    /// somebody else's, or waits for its dependencies.
    case elsewhere
    /// No child may start any more, so it has to be abandoned.
    case refused
    /// It is somebody else's, and no child is waited for any more.
    case left
  }

  /// Starts a child.
  ///
  /// - Parameter joins: whether a child that somebody else starts, or has started, is waited for instead. Otherwise
  ///   the caller has made sure that there is none.
  final func launch(
    _ child: Operation, tag: Int, joins: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> Launch {
    if EngineFault.takesCompletionBlock.isInjected { child.completionBlock = {} }
    guard let child = child as? SettlingOperation else {
      return launchForeign(child, tag: tag, joins: joins, in: slot, context)
    }
    if joins, !owns(tag) {
      guard child.takeOver() else {
        guard childIsJoined(tag) else { return .left }
        if !child.observe(self, tag: tag) { operationDidSettle(child, tag: tag) }
        return .elsewhere
      }
      guard childIsOwned(tag) else { return .refused }
    }
    let state = child.state.current
    if state.has(.hasDependencies), !state.has(.cancelled), DependencyWait.isNeeded(for: child) {
      return park(child, tag: tag)
    }
    if state.has(.composes) {
      child.source?.inherited = environment
      context.expect(child.source) { child.start() }
      return child.observe(self, tag: tag) ? .elsewhere : .finished
    }
    slot.willStart(child)
    context.runUserCode { child.start() }
    if child.state.current.phase == .announced { return .finished }
    guard child.observe(observer(for: slot), tag: tag) else { return .finished }
    return EngineFault.leavesSlotEarly.isInjected ? .elsewhere : .inFlight
  }

  /// Starts an operation of a type that is not ours, which must be done exactly once and only when it is ready.
  private func launchForeign(
    _ child: Operation, tag: Int, joins: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> Launch {
    if child.isFinished { return .finished }
    if child.isExecuting || joins && !owns(tag) && child.isInQueue {
      if joins, !childIsJoined(tag) { return .left }
      ForeignOperations.observe(child, self, tag: tag)
      return .elsewhere
    }
    if joins, !owns(tag), !childIsOwned(tag) { return .refused }
    if !child.isReady { return park(child, tag: tag) }
    slot.willStart(child)
    context.runUserCode { child.start() }
    if child.isFinished { return .finished }
    ForeignOperations.observe(child, observer(for: slot), tag: tag)
    return .inFlight
  }

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

  private func observer(for slot: any WorkSlot) -> any SettlementObserver {
    environment.pool == nil || EngineFault.leavesSlotEarly.isInjected ? self : SlotHolder(source: self, slot: slot)
  }

  // MARK: - Dependencies of children

  /// A child is about to wait for its dependencies. False if no child may start any more.
  func childWillWait(_ tag: Int) -> Bool {
    preconditionFailure("abstract")
  }

  private func park(_ child: Operation, tag: Int) -> Launch {
    let wait = DependencyWait(for: child) { [self] in endWait(tag) }
    waits.withLock { $0[tag] = wait }
    guard childWillWait(tag) else {
      abandonWait(tag)
      return .refused
    }
    if let child = child as? SettlingOperation {
      child.setWhenDecidedUnstarted { [self] in endWait(tag) }
    } else if !DependencyWait.isNeeded(for: child) {
      poll(tag)
      return .elsewhere
    }
    wait.begin()
    return .elsewhere
  }

  /// Looks again later whether a plain operation is ready, that has no unfinished dependency and still is not.
  ///
  /// Foundation releases the dependents of a finished operation one after the other, in any order, so this may last for
  /// another moment. It lasts longer if the operation overrides `isReady`, which on Linux can not be observed.
  private func poll(_ tag: Int) {
    let polls = polls.withLock { polls in
      polls[tag, default: -1] += 1
      return polls[tag]!
    }
    let delay = polls == 0 ? nil : DispatchTimeInterval.milliseconds(1 << min(polls - 1, 5))
    Workers.later(after: delay, qualityOfService: environment.qualityOfService) { [self] in endWait(tag) }
  }

  private func endWait(_ tag: Int) {
    abandonWait(tag)
    childBecameReady(tag)
  }

  private func abandonWait(_ tag: Int) {
    waits.withLock { $0.removeValue(forKey: tag) }?.cancel()
  }

  /// Settles a child that will not run any more, without running its `main`. False if it has not finished yet, and
  /// tells this source when it has.
  ///
  /// - Parameter joins: whether a child that is somebody else's to start is left alone. It is as good as finished.
  final func abandon(_ child: Operation, tag: Int, joins: Bool = false, _ context: ThreadContext) -> Bool {
    abandonWait(tag)
    if joins, !child.takeOver() { return true }
    if let child = child as? SettlingOperation {
      if child.state.current.has(.composes) {
        guard child.observe(self, tag: tag) else { return true }
        context.perform(.abandon(child))
        return false
      }
      context.runUserCode {
        child.cancel()
        // One that was also added to a queue is left for that to start, at once: see `isInQueue`.
        if !child.waitsInQueue { child.start() }
      }
      return !child.observe(self, tag: tag)
    }
    context.runUserCode {
      child.cancel()
      if !child.isFinished, !child.isExecuting, !child.isInQueue { child.start() }
    }
    if child.isFinished {
      child.leaveUnfinishedDependencies()
      return true
    }
    ForeignOperations.observe(child, self, tag: tag)
    return false
  }

  /// Cancels a child that was started, or may be just about to be.
  final func cancel(_ child: Operation, _ context: ThreadContext) {
    if let child = child as? SettlingOperation, child.state.current.has(.composes) {
      context.perform(.cancel(child))
    } else {
      context.runUserCode { child.cancel() }
    }
  }
}

/// Tells both the composition and the slot that a leaf has settled.
private final class SlotHolder: SettlementObserver {
  private let source: WorkSource
  private let slot: any WorkSlot

  init(source: WorkSource, slot: any WorkSlot) {
    self.source = source
    self.slot = slot
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    source.operationDidSettle(operation, tag: tag)
    slot.operationDidSettle()
  }
}
