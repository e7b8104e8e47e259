import Foundation
import Synchronization

/// Runs children in parallel: the engine of parallel composites, `zip`, `all` and `firstSuccess`.
///
/// The fast path has no lock: a dispenser hands out children in order, and counts those that are
/// done. The lock is taken only when a child does not succeed, or when limits, priorities or
/// dependencies decide which child may start.
class ParallelSource: WorkSource, @unchecked Sendable {  // the rest is atomic, behind a lock, or set before the start
  final let state: LockBox<ParallelState>
  @exclusivity(unchecked) private final var dispenser: Dispenser
  /// Whether children are claimed one by one. Sequentially consistent, like the dispenser's count:
  /// when a child settles while a limit changes, one of the two threads sees the other's change.
  private final let isLimited = Atomic(false)
  private final let count: Int
  /// The place of the first child in the global order; 0 until a child needs its place.
  private final let firstPlace = Atomic(0)
  /// Whether a child that other code starts is awaited; if false, it is an error.
  @exclusivity(unchecked) final var joins: Bool
  final let succeedsFirst: Bool
  /// Made when an operation inside a child begins to wait, if there is a limit.
  final let awaited = LazyLockBox(Awaited())
  @exclusivity(unchecked) private final var children: [Operation]

  init(_ children: [Operation], policy: ParallelState.Policy, joins: Bool) {
    self.children = children
    self.count = children.count
    self.dispenser = Dispenser(count: children.count)
    self.joins = joins
    self.succeedsFirst = policy == .firstSuccess
    self.state = LockBox(ParallelState(count: children.count, policy: policy))
  }

  /// For subclasses that make each child when it can run.
  init(count: Int, policy: ParallelState.Policy) {
    self.children = []
    self.count = count
    self.dispenser = Dispenser(count: count)
    self.joins = true
    self.succeedsFirst = policy == .firstSuccess
    self.state = LockBox(ParallelState(count: count, policy: policy))
  }

  deinit {
    ReleaseList.release(operations: &children)
  }

  final var operations: [Operation] { children }

  override var kind: OperationKind { .parallel }

  override final var addsAllAtOnce: Bool { children.count == count }

  override var knownChildren: KnownChildren { KnownChildren(contents: children) }

  /// Settles the owner by the verdict, when all children are done.
  func conclude(_ verdict: ParallelState.Verdict) {
    preconditionFailure("abstract")
  }

  // MARK: - Children

  /// Returns a child that was handed out. A subclass may make it here, and throw if it cannot.
  /// Called again when a child that has waited may start.
  func child(_ tag: Int) throws -> Operation { children[tag] }

  /// Returns the child if it was made and not yet released.
  func existingChild(_ tag: Int) -> Operation? { children[tag] }

  override func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    for (tag, child) in children.enumerated() { body(child, tag) }
  }

  /// Called when a child is to be cancelled that a subclass had not made yet. Returns it if it was
  /// made in the meantime.
  func cancelUnmade(_ tag: Int) -> Operation? { nil }

  /// Called when a child is done and no longer needed.
  func childIsDone(_ tag: Int, _ child: Operation?) {}

  // MARK: - Begin

  override final func begin() { begin(cancelled: false) }

  override final func unwind() { begin(cancelled: true) }

  private func begin(cancelled: Bool) {
    let refusal = joins ? [:] : children.takeOverAsChildren()
    if !monitors.isEmpty { forEachChild { tellAdded($0, tag: $1) } }
    // Read outside the lock: subclasses can override the property.
    let priorities = cancelled || !refusal.isEmpty ? nil : prioritiesIfAny()
    let needsSlot = cancelled || !refusal.isEmpty ? nil : slotNeedsIfDifferent()
    let isOpen: Bool = state.withLock { state in
      state.begin(cancelled: cancelled)
      guard !state.wasCancelled else { return false }
      for (tag, error) in refusal.sorted(by: { $0.key < $1.key }) { state.refuse(tag, error) }
      guard state.phase == .running else { return false }
      isLimited.store(state.isLimited, ordering: .sequentiallyConsistent)
      if state.isLimited || priorities != nil || needsSlot != nil {
        for tag in 0..<count {
          state.add(ready: tag, priority: priorities?[tag] ?? .normal, needsSlot: needsSlot?[tag] ?? true)
        }
      } else {
        // A lane takes one leaf at a time, and checks its queue between two leaves.
        dispenser.open(segmented: environment.pool == nil)
      }
      return true
    }
    guard count > 0 else { return finishEmpty(cancelled: !isOpen) }
    if !isOpen {
      carryOut(ParallelState.Close(notHandedOut: [0..<count], left: Set(refusal.keys)))
    } else if let needsSlot {
      // The lanes first: among ready children, leaves come before those inside child compositions.
      if needsSlot.contains(true) { offer() }
      callStarter()
    } else {
      offer()
    }
  }

  /// Which children need a slot of the queue; nil if all do, or if there is no queue.
  private func slotNeedsIfDifferent() -> [Bool]? {
    guard environment.pool != nil, children.contains(where: { !$0.needsSlot }) else { return nil }
    return children.map(\.needsSlot)
  }

  /// The priorities of the children; nil if all are normal.
  private func prioritiesIfAny() -> [Operation.QueuePriority]? {
    guard children.contains(where: { $0.queuePriority != .normal }) else { return nil }
    return children.map(\.queuePriority)
  }

  private func priority(of tag: Int) -> Operation.QueuePriority {
    existingChild(tag)?.queuePriority ?? .normal
  }

  // MARK: - Running

  override final func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    var place = Dispenser.Place()
    guard let (tag, more) = dispenser.take(at: &place) else { return runReady(in: slot, context) }
    if more { slot.moreIsAvailable(in: self) }
    var result = run(tag, in: slot, context)
    // In a segment of its own a thread takes several neighbours.
    while place.isOwn, !context.hasNext, context.continuesTurn(), let (tag, more) = dispenser.take(at: &place) {
      if more { slot.moreIsAvailable(in: self) }
      result = run(tag, in: slot, context)
    }
    return result
  }

  /// Runs a child from the state, where a limit, its priority or its dependencies put it.
  private func runReady(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    switch claim() {
    case .nothing:
      return .nothing
    case .child(let tag, let more):
      if more { slot.moreIsAvailable(in: self) }
      let result = run(tag, in: slot, context)
      // The child may have freed its place: it settled in `start()`, or waits for its dependencies.
      if result == .done, isLimited.load(ordering: .sequentiallyConsistent) { callStarter() }
      return result
    }
  }

  /// Starts the child compositions that may start, which need no slot.
  private func callStarter() {
    guard let pool = environment.pool, state.withLock({ $0.callStarter(done: dispenser.doneCount) }) else { return }
    pool.besideSlots { [self] in startWithoutSlot(in: pool) }
  }

  private func startWithoutSlot(in pool: QueuePool) {
    // The count is read inside the lock: a child that is done later finds no starter, and calls
    // one.
    guard let (tag, more) = state.withLock({ $0.claimWithoutSlot(done: dispenser.doneCount) }) else { return }
    // The next starter first: this child's `start()` may wait for a sibling.
    if more { pool.besideSlots { [self] in startWithoutSlot(in: pool) } }
    _ = run(tag, in: NoSlot.shared, ThreadContext.current)
    // The child may have freed its place.
    if isLimited.load(ordering: .sequentiallyConsistent) { offerAll() }
  }

  override final var isExhausted: Bool { state.withLock { $0.phase == .settled } }

  private func claim() -> ParallelState.Claim {
    let done = dispenser.doneCount
    return state.withLock { $0.claim(done: done) }
  }

  private func run(_ tag: Int, in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    do {
      let child = try self.child(tag)
      guard let higher = higherQualityOfService(of: child) else { return run(child, tag, in: slot, context) }
      Threads.later(qualityOfService: higher) { [self] in
        _ = run(child, tag, in: slot, ThreadContext.current)
        if isLimited.load(ordering: .sequentiallyConsistent) { offer() }
      }
    } catch {
      childEnded(tag, nil, error is CancellationError ? .cancelled : .failure(error))
    }
    return .done
  }

  private func run(_ child: Operation, _ tag: Int, in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    switch launch(child, tag: tag, joins: joins, in: slot, context) {
    case .finished:
      childEnded(tag, child)
    case .inFlight:
      return .inFlight
    case .elsewhere:
      break
    case .refused:
      if joins { _ = state.withLock { $0.abandon(tag) } }
      if abandon(child, tag: tag, context) { childDone(tag, child) }
    case .left:
      leave(tag, child)
    }
    return .done
  }

  override final func operationDidSettle(_ child: Operation, tag: Int) {
    if joins, !state.withLock({ $0.owned.contains(tag) || $0.leave(tag) }) { return }
    childEnded(tag, child)
    if isLimited.load(ordering: .sequentiallyConsistent) { offerAll() }
  }

  /// Called when more children may start, with or without a slot.
  private func offerAll() {
    offer()
    callStarter()
  }

  private func childEnded(_ tag: Int, _ child: Operation) {
    if child.isOwn, child.asOwn.state.current.ending == .success {
      if succeedsFirst { childEnded(tag, child, .success(())) } else { childDone(tag, child) }
    } else {
      childEnded(tag, child, outcome(of: child, tag: tag))
    }
  }

  private func childEnded(_ tag: Int, _ child: Operation?, _ outcome: Outcome<any Sendable>) {
    let close = state.withLock { state in
      let close =
        switch outcome {
        case .success: state.childSucceeded(tag)
        case .failure(let error): state.childFailed(tag, error)
        case .cancelled: state.childWasCancelled()
        }
      return close.map(closingDispenser)
    }
    if let close { carryOut(close) }
    childDone(tag, child)
  }

  private func childDone(_ tag: Int, _ child: Operation?) {
    tellSettled(child, tag: tag)
    childIsDone(tag, child)
    if dispenser.countDone(tag) { finish() }
  }

  /// Finishes without children: later, so that `start()` calls no completion, unless cancelled
  /// before.
  private func finishEmpty(cancelled: Bool) {
    if cancelled { return finish() }
    Threads.later(qualityOfService: environment.qualityOfService) { [self] in finish() }
  }

  private func finish() {
    let verdict = state.withLock { $0.finish() }
    conclude(verdict)
  }

  // MARK: - Stopping

  override final func cancel() {
    guard let close = state.withLock({ state in state.cancel().map(closingDispenser) }) else { return }
    carryOut(close)
  }

  /// Closes the dispenser, and adds what it has not handed out. Called inside the lock.
  private func closingDispenser(_ close: ParallelState.Close) -> ParallelState.Close {
    guard let rest = dispenser.close() else { return close }
    var close = close
    close.notHandedOut = rest
    return close
  }

  private func carryOut(_ close: ParallelState.Close) {
    let context = ThreadContext.current
    let owned = joins ? state.withLock { $0.owned } : []
    let refusals = refusals
    for tag in close.handedOut(of: count) where joins ? owned.contains(tag) : !close.abandoned.contains(tag) {
      if let child = existingChild(tag), !child.isFinished, refusals[tag] == nil { cancel(child, context) }
    }
    for tag in close.abandoned.sorted() { abandonChild(tag, context) }
    for tag in close.notHandedOut.joined() where !close.left.contains(tag) { abandonChild(tag, context) }
    for tag in close.left { leave(tag, existingChild(tag)) }
  }

  /// Stops waiting for a child. If other code ran it and it has finished, it counts with its
  /// outcome.
  private func leave(_ tag: Int, _ child: Operation?) {
    if joins, let child, child.isFinished { childEnded(tag, child) } else { childDone(tag, child) }
  }

  private func abandonChild(_ tag: Int, _ context: ThreadContext) {
    guard let child = existingChild(tag) else { return childDone(tag, nil) }
    if child.isFinished { return childEnded(tag, child) }
    let mayBeTheirs = joins && state.withLock { !$0.abandon(tag) }
    if abandon(child, tag: tag, joins: mayBeTheirs, context) { childDone(tag, child) }
  }

  override final func cancelWaiting() {
    // At once: a limit that is set moves children from the dispenser to the state.
    let waiting = state.withLock { $0.ready.all + $0.readyWithoutSlot.all + dispenser.remaining }
    let context = ThreadContext.current
    for tag in waiting {
      guard let child = existingChild(tag) ?? cancelUnmade(tag), !child.isFinished else { continue }
      cancelWaiting(child, tag: tag, joins: joins, context)
    }
  }

  // MARK: - Ownership and dependencies

  override final func owns(_ tag: Int) -> Bool {
    state.withLock { $0.owned.contains(tag) }
  }

  override final func place(of tag: Int) -> Int {
    var first = firstPlace.load(ordering: .relaxed)
    if first == 0 {
      let new = Place.next(count)
      let (isFirst, earlier) = firstPlace.compareExchange(expected: 0, desired: new, ordering: .relaxed)
      first = isFirst ? new : earlier
    }
    return first + tag
  }

  override final func childIsOwned(_ tag: Int) -> Bool {
    state.withLock { $0.own(tag) }
  }

  override final func childIsJoined(_ tag: Int) -> Bool {
    state.withLock { $0.join(tag) }
  }

  override final func childWillWait(_ tag: Int) -> Bool {
    state.withLock { $0.park(tag) }
  }

  override final func childBecameReady(_ tag: Int) {
    let priority = priority(of: tag)
    let needsSlot = environment.pool == nil || existingChild(tag)?.needsSlot != false
    guard state.withLock({ $0.unpark(tag, priority: priority, needsSlot: needsSlot) }) else { return }
    if let child = existingChild(tag) as? SettlingOperation, let circle = circleOfPlaces(through: child) {
      // What waits for it in the places continues.
      let error = child.failure(unrunBecauseOf: OperationError(circle: circle, endsInPlace: true))
      if OperationContext.isUsed { passContext(to: child) }
      ThreadContext.current.runUserCode { _ = child.settle(as: .failure, error: error) }
    }
    if needsSlot { offer() } else { callStarter() }
  }

  override final var nextPriority: Operation.QueuePriority {
    state.withLock { $0.ready.firstPriority } ?? .normal
  }

  // MARK: - Limits

  override final var isLimiting: Bool { isLimited.load(ordering: .relaxed) }

  /// How many children are unfinished, if no further one may start and some wait for that.
  final var fullPlaces: Int? {
    // Inside the lock: see `startWithoutSlot(in:)`.
    state.withLock { $0.fullPlaces(done: dispenser.doneCount) }
  }

  final var width: Int { state.withLock { $0.width } }

  final var isSuspended: Bool { state.withLock { $0.isSuspended } }

  final func setWidth(_ width: Int) {
    change { $0.setWidth(width) }
  }

  final func setSuspended(_ isSuspended: Bool) {
    change { $0.setSuspended(isSuspended) }
  }

  override final var progressShape: ProgressShape { .parallel(count: count) }

  private func change(_ change: (inout ParallelState) -> Void) {
    let (isRunning, isLast) = state.withLock { state in
      change(&state)
      isLimited.store(state.isLimited, ordering: .sequentiallyConsistent)
      guard state.phase == .running else { return (false, false) }
      guard state.isLimited, let rest = dispenser.close() else { return (true, false) }
      // All have normal priority: otherwise the dispenser was never opened.
      state.dispenserClosed(leaving: rest)
      return (true, dispenser.countExactly())
    }
    if isLast {
      finish()
    } else if isRunning {
      offerAll()
    }
  }
}

extension Operation {
  /// Whether the operation occupies a slot of a queue that it runs in: compositions do not, leaves
  /// do.
  fileprivate var needsSlot: Bool { (self as? SettlingOperation)?.state.current.has(.needsNoSlot) != true }
}

/// Stands for a slot where compositions start, which need none.
private final class NoSlot: WorkSlot {
  static let shared = NoSlot()

  func moreIsAvailable(in source: WorkSource) {}
  func willStart(_ operation: Operation) {}
  func operationDidSettle() {}
}
