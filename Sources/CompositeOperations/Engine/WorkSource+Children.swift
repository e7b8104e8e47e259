import Dispatch
import Foundation
import Synchronization

// What a source does with its children: starts them, waits for their dependencies, cancels them, or settles them
// without running them.

/// The children of a source that wait for their dependencies.
struct Waits {
  var pending: [Int: DependencyWait] = [:]
  var circles = DependencyCircles()
  /// Plain children that were not run because they are in a circle, with what is wrong: they cannot hold an error
  /// themselves.
  var refused: [Int: OperationError] = [:]
  /// How often plain children were looked at that are not ready for no known reason.
  var polls: [Int: Int] = [:]
}

extension WorkSource {
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
    guard let child = child as? SettlingOperation else {
      return launchForeign(child, tag: tag, joins: joins, in: slot, context)
    }
    if joins, !owns(tag) {
      guard child.takeOver() else {
        // Told first: once it is waited for, whoever ends the composition may tell of its settlement.
        tellWillStart(child, tag: tag)
        guard childIsJoined(tag) else { return .left }
        if !child.observe(self, tag: tag) { operationDidSettle(child, tag: tag) }
        return .elsewhere
      }
      guard childIsOwned(tag) else { return .refused }
    }
    let state = child.state.current
    if state.phase == .pending, state.has(.hasDependencies), !state.has(.cancelled) {
      // Asked in this order: once one in a circle was refused, the others are ready, and known.
      let waits = DependencyWait.isNeeded(for: child)
      if let error = knownCircle(of: child) { return refuse(child, tag: tag, error, context) }
      if waits { return park(child, tag: tag, context) }
    }
    // One that was cancelled before settles in `start()`, and never runs.
    let isTold = (state.phase != .pending || !state.has(.cancelled)) && tellWillStart(child, tag: tag)
    if state.has(.needsNoSlot) {
      child.source?.inherited = environmentForChildren
      child.source?.takePlace { place(of: tag) }
      context.expect(child.source) { child.start() }
      return child.observe(self, tag: tag) ? .elsewhere : .finished
    }
    slot.willStart(child)
    context.startChild(child, qualityOfService: environment.qualityOfService)
    if child.state.current.phase == .announced { return .finished }
    // A monitor that has come meanwhile may have found that it had not started.
    if !isTold { tellWillStart(child, tag: tag) }
    guard child.observe(observer(for: slot), tag: tag) else { return .finished }
    return .inFlight
  }

  /// Starts an operation of a type that is not ours, which must be done exactly once and only when it is ready.
  private func launchForeign(
    _ child: Operation, tag: Int, joins: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> Launch {
    if child.isFinished { return .finished }
    if child.isExecuting || joins && !owns(tag) && child.isInQueue {
      tellWillStart(child, tag: tag)
      if joins, !childIsJoined(tag) { return .left }
      ForeignOperations.observe(child, self, tag: tag)
      return .elsewhere
    }
    if joins, !owns(tag), !childIsOwned(tag) { return .refused }
    let isReady = child.isReady
    if let error = knownCircle(of: child) { return refuse(child, tag: tag, error, context) }
    if !isReady { return park(child, tag: tag, context) }
    if !child.isCancelled { tellWillStart(child, tag: tag) }
    slot.willStart(child)
    context.runUserCode {
      child.start()
      // A cancel made it ready, whatever its dependencies.
      if child.isCancelled { child.leaveDependencies() }
    }
    if child.isFinished { return .finished }
    ForeignOperations.observe(child, observer(for: slot), tag: tag)
    return .inFlight
  }

  private func observer(for slot: any WorkSlot) -> any SettlementObserver {
    environment.pool == nil ? self : SlotHolder(source: self, slot: slot)
  }

  // MARK: - Dependencies of children

  private func park(_ child: Operation, tag: Int, _ context: ThreadContext) -> Launch {
    if let error = newCircle(of: child, tag: tag) { return refuse(child, tag: tag, error, context) }
    let wait = DependencyWait(for: child) { [self] in endWait(tag) }
    waits.withLock { $0.pending[tag] = wait }
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

  /// What is wrong with a child that an earlier search has found in a circle of dependencies.
  @inline(__always)
  private func knownCircle(of child: Operation) -> OperationError? {
    guard hasCircles.load(ordering: .acquiring) else { return nil }
    return waits.withLock { $0.circles.error(of: child) }
  }

  /// What is wrong with a child that is about to wait, if it would wait for itself.
  private func newCircle(of child: Operation, tag: Int) -> OperationError? {
    let (isHarmless, isKnown) = waits.withLock { ($0.circles.isHarmless(child), $0.circles.isKnown(child)) }
    guard !isHarmless else { return nil }
    // One that is in a circle which an earlier search has met has to go through it again, to know the others in it.
    let search = DependencyCircles.Search(from: child, in: self) { operation in
      waits.withLock { isKnown ? $0.circles.isHarmless(operation) : $0.circles.isKnown(operation) }
    }
    return waits.withLock { waits in
      waits.circles.add(search, tag: tag)
      return waits.circles.error(of: child)
    }
  }

  /// Settles a child that can never start, because it is in a circle of dependencies: as a failure.
  private func refuse(_ child: Operation, tag: Int, _ error: OperationError, _ context: ThreadContext) -> Launch {
    // The others that are in it would be ready once this one has finished.
    hasCircles.store(true, ordering: .releasing)
    if let child = child as? SettlingOperation {
      context.runUserCode { _ = child.settle(as: .failure, error: child.failure(unrunBecauseOf: error)) }
      return child.observe(self, tag: tag) ? .elsewhere : .finished
    }
    waits.withLock { $0.refused[tag] = error }
    return abandon(child, tag: tag, context) ? .finished : .elsewhere
  }

  /// How a child ended, as the composition sees it.
  final func outcome(of child: Operation, tag: Int) -> Outcome<any Sendable> {
    if hasCircles.load(ordering: .acquiring), let error = waits.withLock({ $0.refused[tag] }) { return .failure(error) }
    return child.anyOutcome ?? .success(())
  }

  /// Looks again later whether a plain operation is ready, that has no unfinished dependency and still is not.
  ///
  /// Foundation releases the dependents of a finished operation one after the other, in any order, so this may last for
  /// another moment. It lasts longer if the operation overrides `isReady`, which on Linux can not be observed.
  private func poll(_ tag: Int) {
    let polls = waits.withLock { waits in
      waits.polls[tag, default: -1] += 1
      return waits.polls[tag]!
    }
    let delay = polls == 0 ? nil : DispatchTimeInterval.milliseconds(1 << min(polls - 1, 5))
    Threads.later(after: delay, qualityOfService: environment.qualityOfService) { [self] in endWait(tag) }
  }

  private func endWait(_ tag: Int) {
    abandonWait(tag)
    childBecameReady(tag)
  }

  private func abandonWait(_ tag: Int) {
    let wait = waits.withLockIfMade { waits in
      waits.circles.forget(tag)
      return waits.pending.removeValue(forKey: tag)
    }
    wait??.cancel()
  }

  /// Settles a child that will not run any more, without running its `main`. False if it has not finished yet, and
  /// tells this source when it has.
  ///
  /// - Parameters:
  ///   - joins: whether a child that is somebody else's to start is left alone. It is as good as finished.
  ///   - observer: who is told instead of this source, if not nil.
  final func abandon(
    _ child: Operation, tag: Int, joins: Bool = false, observer: (any SettlementObserver)? = nil,
    _ context: ThreadContext
  ) -> Bool {
    let observer = observer ?? self
    abandonWait(tag)
    if joins, !child.takeOver() { return true }
    if let child = child as? SettlingOperation {
      if child.state.current.has(.needsNoSlot) {
        guard child.observe(observer, tag: tag) else { return true }
        context.perform(.unwind(child))
        return false
      }
      context.runUserCode {
        child.cancel()
        // One that was also added to a queue is left for that to start, at once: see `isInQueue`.
        if !child.waitsInQueue { child.start() }
      }
      return !child.observe(observer, tag: tag)
    }
    context.runUserCode {
      child.cancel()
      guard !child.isFinished, !child.isExecuting, !child.isInQueue else { return }
      child.start()
      child.leaveDependencies()
    }
    if child.isFinished { return true }
    ForeignOperations.observe(child, observer, tag: tag)
    return false
  }

  /// Cancels a child that waits for its turn, as somebody from outside would; not one that is somebody else's.
  final func cancelWaiting(_ child: Operation, tag: Int, joins: Bool, _ context: ThreadContext) {
    if joins, !owns(tag), child.isTaken { return }
    cancel(child, context)
  }

  /// Cancels a child that was started, or may be just about to be.
  final func cancel(_ child: Operation, _ context: ThreadContext) {
    if let child = child as? SettlingOperation, child.state.current.has(.needsNoSlot) {
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
