import Foundation

/// Runs one child after the other: the engine of sequential composites, `then`, `map` and
/// `recover`.
class SequentialSource: WorkSource, @unchecked Sendable {  // the rest is behind a lock
  /// What to do next.
  enum Step {
    case run(Operation)
    /// Run nothing more, and settle the owner.
    case settle(OperationState.Ending, value: (any Sendable)? = nil, error: (any Error)? = nil)
  }

  final let state: LockBox<SequentialState>
  /// Whether a child that other code starts is awaited; if false, it is an error.
  private final let joins: Bool
  /// The number of the last child, if that is known.
  @exclusivity(unchecked) final var lastTag = 0

  init(records: SequentialRecords? = nil, joins: Bool) {
    self.state = LockBox(SequentialState(records: records))
    self.joins = joins
  }

  /// Chooses what comes after `previous`. Called where the children run, by one thread at a time,
  /// under no lock.
  ///
  /// - Parameter count: the number of children so far.
  func nextStep(after previous: Operation?, count: Int) -> Step {
    preconditionFailure("abstract")
  }

  /// Chooses what comes after a plain child that was refused, which does not know the error; like
  /// ``nextStep(after:count:)``.
  func nextStep(afterRefusalOf child: Operation, _ error: OperationError, count: Int) -> Step {
    .settle(.failure, error: error)
  }

  override var knownChildren: KnownChildren {
    state.withLock { state in
      guard let current = state.current else { return KnownChildren(earlier: state.count) }
      return KnownChildren(contents: [current], earlier: max(0, state.count - 1))
    }
  }

  /// Whether no child follows `child`, which has ended: the owner then settles on the thread that
  /// settles this child, without waiting for a slot. Called on that thread, under no lock.
  func isLast(_ child: Operation, tag: Int) -> Bool { tag == lastTag }

  /// Removes and returns the operation of the first step, if it exists already.
  func takeUnasked() -> Operation? { nil }

  /// Called before a source that joins lets go of child number `tag`, whose name the owner may
  /// need. Called under no lock, because subclasses can override the name.
  func noteName(of child: Operation, tag: Int) {}

  /// Releases the steps: `nextStep` is not called again.
  func discardSteps() {}

  /// Settles the owner, after the last child, if any, has finished.
  func conclude(as ending: OperationState.Ending, value: (any Sendable)?, error: (any Error)?) {
    settleOwner(as: ending, value: value, error: error)
  }

  // MARK: - Begin and end

  override final func begin() { begin(cancelled: false) }

  override final func unwind() { begin(cancelled: true) }

  private func begin(cancelled: Bool) {
    let isCancelled = state.withLock { state in
      state.begin(cancelled: cancelled)
      return state.isCancelled
    }
    if isCancelled { unwind(ThreadContext.current) } else { offer() }
  }

  /// Ends a cancelled sequence in which no child runs.
  private func unwind(_ context: ThreadContext) {
    guard let child = takeUnasked() else {
      state.withLock { $0.leave() }
      return end(as: .cancelled)
    }
    let tag = state.withLock { state in
      state.unwind(child)
      return state.count
    }
    tellAdded(child, tag: tag)
    abandonCurrent(child, tag, joins: joins, context)
  }

  private func end(as ending: OperationState.Ending, value: (any Sendable)? = nil, error: (any Error)? = nil) {
    discardSteps()
    conclude(as: ending, value: value, error: error)
  }

  // MARK: - Running

  override final func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    var claim = state.withLock { $0.claim() }
    while true {
      switch run(consume claim, in: slot, context) {
      case .next(let next): claim = next
      case .stop(let result): return result
      }
    }
  }

  private enum Progress {
    case next(SequentialState.Claim)
    case stop(WorkResult)
  }

  private func run(
    _ claim: consuming SequentialState.Claim, in slot: any WorkSlot, _ context: ThreadContext
  ) -> Progress {
    switch consume claim {
    case .nothing:
      return .stop(.nothing)
    case .launch(let child, let count):
      return launch(child, count, in: slot, context)
    case .ask(let previous, let count):
      switch nextStepOrRefusal(after: previous, count, context) {
      case .settle(let ending, let value, let error):
        state.withLock { $0.end() }
        end(as: ending, value: value, error: error)
        return .stop(.nothing)
      case .run(let child):
        tellAdded(child, tag: count + 1)
        switch state.withLock({ $0.begin(child, ownership: joins ? .unknown : .ours) }) {
        case .abandon:
          abandonCurrent(child, count + 1, joins: joins, context)
          return .stop(.nothing)
        case .launch(let thenCancel):
          if thenCancel { cancelWaiting(child, tag: count + 1, joins: joins, context) }
          return launch(child, count + 1, in: slot, context)
        case .hold(let thenCancel):
          if thenCancel { cancelWaiting(child, tag: count + 1, joins: joins, context) }
          return .stop(.nothing)
        }
      }
    }
  }

  private func nextStepOrRefusal(after previous: Operation?, _ count: Int, _ context: ThreadContext) -> Step {
    if OperationContext.isUsed { return nextStepInContext(after: previous, count, context) }
    return context.runUserCode { askForNextStep(after: previous, count) }
  }

  // Not inlined: with two copies of the user's code, each call would retain more.
  @inline(never)
  private func nextStepInContext(after previous: Operation?, _ count: Int, _ context: ThreadContext) -> Step {
    runUserCode(context) { askForNextStep(after: previous, count) }
  }

  /// A source without records asks the child itself how it has ended, and a plain child does not
  /// know that it was refused.
  @inline(__always)
  private func askForNextStep(after previous: Operation?, _ count: Int) -> Step {
    if let previous, let error = refusal(of: count), !state.withLock({ $0.records != nil }) {
      return nextStep(afterRefusalOf: previous, error, count: count)
    }
    return nextStep(after: previous, count: count)
  }

  private func launch(
    _ child: Operation, _ tag: Int, in slot: any WorkSlot, _ context: ThreadContext
  ) -> Progress {
    if let higher = higherQualityOfService(of: child) {
      Threads.later(qualityOfService: higher) { [self] in
        // The thread is not the composition's: it does not go on.
        let result = launchHere(child, tag, in: slot, ThreadContext.current, mayGoOn: false)
        if case .stop(.done) = result { offer() }
      }
      return .stop(.nothing)
    }
    return launchHere(child, tag, in: slot, context, mayGoOn: true)
  }

  private func launchHere(
    _ child: Operation, _ tag: Int, in slot: any WorkSlot, _ context: ThreadContext, mayGoOn: Bool
  ) -> Progress {
    switch launch(child, tag: tag, joins: joins, in: slot, context) {
    case .finished:
      // A lane checks its queue between two leaves; a worker has none to check.
      let goesOn = mayGoOn && environment.pool == nil && context.continuesTurn()
      guard let claim = settled(child, tag, claiming: goesOn) else { return .stop(.nothing) }
      return goesOn ? .next(claim) : .stop(.done)
    case .inFlight:
      return .stop(.inFlight)
    case .elsewhere:
      return .stop(.nothing)
    case .refused:
      abandonCurrent(child, tag, context)
      return .stop(.nothing)
    case .left:
      noteName(of: child, tag: tag)
      tellSettled(child, tag: tag)
      state.withLock { $0.leave() }
      end(as: .cancelled)
      return .stop(.nothing)
    }
  }

  override final var isExhausted: Bool { state.withLock { $0.phase == .ended } }

  override final func operationDidSettle(_ child: Operation, tag: Int) {
    if settled(child, tag, claiming: false) != nil { offer() }
  }

  /// Handles the end of child number `tag`. Returns the claim if the sequence continues.
  private func settled(_ child: Operation, _ tag: Int, claiming: Bool) -> SequentialState.Claim? {
    // Monitors first: once the state has changed, a cancel may settle the owner.
    if !monitors.isEmpty, state.withLock({ $0.tellSettled(tag) }) { tellSettled(child, tag: tag) }
    if joins { noteName(of: child, tag: tag) }
    let settled: SequentialState.Settled
    let isLast = isLast(child, tag: tag)
    if child.isOwn, child.asOwn.state.current.ending == .success {
      settled = state.withLock { $0.succeeded(tag, child.asOwn.storedValue, claiming: claiming, isLast: isLast) }
    } else {
      let outcome = outcome(of: child, tag: tag)
      // Outside the lock: subclasses can override it.
      let name = outcome.error == nil ? nil : child.name
      settled = state.withLock { $0.settled(tag, outcome, name: name, claiming: claiming, isLast: isLast) }
    }
    switch consume settled {
    case .proceed(let claim):
      guard isLast else { return claim }
      settle(claim)
      return nil
    case .end:
      end(as: .cancelled)
      return nil
    case .ignore:
      return nil
    }
  }

  /// Settles the owner after the last child. No child runs after it, so any thread will do.
  private func settle(_ claim: SequentialState.Claim) {
    guard case .ask(let previous, let count) = claim,
      case .settle(let ending, let value, let error) = nextStepOrRefusal(after: previous, count, ThreadContext.current)
    else { preconditionFailure("\(claim) after the last child") }
    state.withLock { $0.end() }
    end(as: ending, value: value, error: error)
  }

  // MARK: - Cancel, suspend

  override final func cancel() {
    let context = ThreadContext.current
    switch state.withLock({ $0.cancel() }) {
    case .nothing: break
    case .cancel(let child): cancel(child, context)
    case .abandon(let child, let count): abandonCurrent(child, count, joins: joins && !owns(count), context)
    case .unwind(let previous): withExtendedLifetime(previous) { unwind(context) }
    case .leave(let child, let count):
      noteName(of: child, tag: count)
      tellSettled(child, tag: count)
      end(as: .cancelled)
    }
  }

  private func abandonCurrent(_ child: Operation, _ tag: Int, joins: Bool = false, _ context: ThreadContext) {
    if abandon(child, tag: tag, joins: joins, context) {
      _ = settled(child, tag, claiming: false)
    }
  }

  override final func cancelWaiting() {
    let (waiting, tag) = state.withLock { ($0.cancelWaiting(), $0.count) }
    if let waiting { cancelWaiting(waiting, tag: tag, joins: joins, ThreadContext.current) }
  }

  final func setSuspended(_ isSuspended: Bool) {
    let mayGoOn = state.withLock { state in
      state.setSuspended(isSuspended)
      return state.phase != .idle && !isSuspended
    }
    if mayGoOn { offer() }
  }

  // MARK: - Ownership and dependencies

  override final func owns(_ tag: Int) -> Bool {
    state.withLock { $0.ownership == .ours }
  }

  override final func childIsOwned(_ tag: Int) -> Bool {
    state.withLock { $0.setOwnership(.ours) }
  }

  override final func childIsJoined(_ tag: Int) -> Bool {
    state.withLock { $0.setOwnership(.theirs) }
  }

  override final func childWillWait(_ tag: Int) -> Bool {
    state.withLock { $0.wait() }
  }

  override final func childBecameReady(_ tag: Int) {
    if state.withLock({ $0.unwait(tag) }) { offer() }
  }

  override final func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    let (current, tag) = state.withLock { ($0.current, $0.count) }
    if let current { body(current, tag) }
  }

  override final var pastCount: Int {
    state.withLock { $0.current == nil ? $0.count : $0.count - 1 }
  }

  override final var nextPriority: Operation.QueuePriority {
    state.withLock { $0.current }?.queuePriority ?? .normal
  }
}

extension SequentialSource.Step {
  /// Settles the owner as `operation` has ended.
  static func settleLike(_ operation: Operation) -> Self {
    switch operation.anyOutcome {
    case .success(let value): .settle(.success, value: value)
    case .failure(let error): .settle(.failure, error: error)
    case .cancelled, nil: .settle(.cancelled)
    }
  }
}
