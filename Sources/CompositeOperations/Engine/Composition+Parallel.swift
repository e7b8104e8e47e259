import Foundation
import Synchronization

// How a composition runs children in parallel: those of a list, and those with tags.
//
// The fast path of a list has no lock: the dispenser hands out children in order, and counts those
// that are done. The table is locked only when a child does not succeed, or when limits, priorities
// or dependencies decide which child may start.

extension Composition {
  // MARK: - Begin

  final func beginList(cancelled: Bool) {
    let refusals = joins ? [:] : children.adoptAsChildren()
    if !monitors.isEmpty { forEachChild { tellAdded($0, tag: $1) } }
    // Read outside the lock: subclasses can override the property.
    let order = cancelled || !refusals.isEmpty ? nil : orderIfNeeded()
    let before: [ChildTable.Phase]? = table.withLock { table in
      guard table.begin(cancelled: cancelled), refusals.isEmpty else { return table.refuse(refusals) }
      isLimited.store(table.isLimited, ordering: .sequentiallyConsistent)
      if let order {
        for (tag, (priority, needsSlot)) in order.enumerated() {
          table.add(ready: tag, priority: priority, needsSlot: needsSlot)
        }
      } else if table.isLimited {
        table.list([0..<count])
      } else {
        // A lane takes one leaf at a time, and checks its queue between two leaves.
        dispenser.open(segmented: environment.pool == nil)
      }
      return nil
    }
    if let before {
      count == 0 ? finish() : carryOut(before)
    } else if count == 0 {
      // Later, so that `start()` calls no completion.
      Threads.later(qualityOfService: environment.qualityOfService) { [self] in finish() }
    } else if let order {
      // The lanes first: among ready children, leaves come before those inside child compositions.
      if order.contains(where: \.needsSlot) { offer() }
      callStarter()
    } else {
      offer()
    }
  }

  /// The priorities of the children, and which of them need a slot of the queue; nil if all are
  /// equal.
  private final func orderIfNeeded() -> [(priority: Operation.QueuePriority, needsSlot: Bool)]? {
    let slotsDiffer = environment.pool != nil && children.contains { !$0.needsSlot }
    guard slotsDiffer || children.contains(where: { $0.queuePriority != .normal }) else { return nil }
    return children.map { ($0.queuePriority, !slotsDiffer || $0.needsSlot) }
  }

  // MARK: - Running

  final func runChild(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    if isList {
      var place = Dispenser.Place()
      if let (tag, more) = dispenser.take(at: &place) {
        if more { slot.moreIsAvailable(in: self) }
        var result = runListed(tag, isOurs: false, in: slot, context)
        // In a segment of its own a thread takes several neighbours.
        while place.isOwn, !context.hasNext, context.continuesTurn(), let (tag, more) = dispenser.take(at: &place) {
          if more { slot.moreIsAvailable(in: self) }
          result = runListed(tag, isOurs: false, in: slot, context)
        }
        return result
      }
    }
    let done = doneCount
    guard let claim = table.withLock({ $0.claim(done: done) }) else { return .nothing }
    if claim.more { slot.moreIsAvailable(in: self) }
    guard isList else { return runTagged(claim, in: slot, context) }
    let result = runListed(claim.tag, isOurs: claim.isOurs, in: slot, context)
    // The child may have freed its place: it settled in `start()`, or waits for its dependencies.
    if result == .done, isLimited.load(ordering: .sequentiallyConsistent) { callStarter() }
    return result
  }

  private final var doneCount: Int { isList ? dispenser.doneCount : 0 }

  /// Runs a child of a list, which may have waited.
  private final func runListed(
    _ tag: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    if !children.isEmpty { return run(children[tag], tag, isOurs: isOurs, in: slot, context) }
    if isOurs, let child = existing(tag) { return run(child, tag, isOurs: true, in: slot, context) }
    return runNew(ChildTable.Claim(handle: tag, tag: tag), in: slot, context)
  }

  private final func runTagged(
    _ claim: ChildTable.Claim, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    if let child = claim.child { return run(child, claim.handle, isOurs: true, in: slot, context) }
    return runNew(claim, in: slot, context)
  }

  /// Makes the child of a claim, and runs it.
  private final func runNew(
    _ claim: ChildTable.Claim, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    let handle = claim.handle
    let made: Made
    do {
      made = try runUserCode(context) { try make(claim.tag, after: nil, nil) }
    } catch {
      childEnded(handle, nil, error is CancellationError ? .cancelled : .failure(error))
      return .done
    }
    guard case .run(let child, let tag) = made else {
      if isList { childDone(handle, nil) } else { table.withLock { $0.skip(handle) } }
      return .done
    }
    // Recorded and adopted in one step. Another thread adopts a child of higher quality of service.
    // A child that other code starts is joined at its launch, after monitors have heard of the
    // child.
    let higher = higherQualityOfService(of: child)
    let isOurs = higher == nil && child.isOwn && child.asOwn.adoptOwn()
    let (isOpen, isCancelled) = table.withLock { $0.made(handle, child, tag: tag, isOurs ? .ours : .claimed) }
    tellAdded(child, tag: handle)
    if claim.isCancelled || isCancelled { cancelWaiting(child, isOurs: isOurs, context) }
    if isOurs, !isOpen {
      refused(child, handle, context)
      return .done
    }
    return run(child, handle, isOurs: isOurs, higher, in: slot, context)
  }

  @inline(__always)
  private final func run(
    _ child: Operation, _ handle: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    run(child, handle, isOurs: isOurs, higherQualityOfService(of: child), in: slot, context)
  }

  @inline(__always)
  private final func run(
    _ child: Operation, _ handle: Int, isOurs: Bool, _ higher: QualityOfService?, in slot: any WorkSlot,
    _ context: ThreadContext
  ) -> WorkResult {
    guard let higher else { return runHere(child, handle, isOurs: isOurs, in: slot, context) }
    Threads.later(qualityOfService: higher) { [self] in
      let result = runHere(child, handle, isOurs: isOurs, in: slot, ThreadContext.current)
      if isList ? isLimited.load(ordering: .sequentiallyConsistent) : result == .done { offer() }
    }
    return .done
  }

  private final func runHere(
    _ child: Operation, _ handle: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    if let result = launch(child, tag: handle, isOurs: isOurs, in: slot, context) { return result }
    if isList { childEnded(handle, child) } else { taggedChildEnded(handle, child, comesBack: true) }
    return .done
  }

  /// Settles a child without running it, because no further child may start.
  final func refused(_ child: Operation, _ handle: Int, _ context: ThreadContext) {
    guard abandon(child, tag: handle, context) else { return }
    if isList { childDone(handle, child) } else { taggedChildEnded(handle, child, comesBack: false) }
  }

  // MARK: - Child compositions in a queue, which need no slot

  /// Starts the child compositions that may start.
  final func callStarter() {
    guard let pool = environment.pool, table.withLock({ $0.callStarter(done: doneCount) }) else { return }
    pool.besideSlots { [self] in startWithoutSlot(in: pool) }
  }

  private final func startWithoutSlot(in pool: QueuePool) {
    // The count is read inside the lock: a child that is done later finds no starter, and calls
    // one.
    guard let claim = table.withLock({ $0.claimWithoutSlot(done: doneCount) }) else { return }
    // The next starter first: this child's `start()` may wait for a sibling.
    if claim.more { pool.besideSlots { [self] in startWithoutSlot(in: pool) } }
    _ = runListed(claim.tag, isOurs: claim.isOurs, in: NoSlot.shared, ThreadContext.current)
    // The child may have freed its place.
    if isLimited.load(ordering: .sequentiallyConsistent) { offerAll() }
  }

  /// Called when more children may start, with or without a slot.
  final func offerAll() {
    offer()
    callStarter()
  }

  // MARK: - Ends of children in a list

  final func childEnded(_ tag: Int, _ child: Operation) {
    if child.isOwn, child.asOwn.state.current.ending == .success, !succeedsFirst {
      childDone(tag, child)
    } else {
      childEnded(tag, child, outcome(of: child, tag: tag))
    }
  }

  private final func childEnded(_ tag: Int, _ child: Operation?, _ outcome: Outcome<any Sendable>) {
    let before = table.withLock { table in
      table.endings.record(outcome, of: tag, isOpen: !table.isClosed) ? closeList(&table) : nil
    }
    if let before {
      if traits.contains(.settlesAtOnce), case .success = outcome { conclude(.winner(tag), count: count) }
      carryOut(before)
    }
    childDone(tag, child)
  }

  private final func childDone(_ tag: Int, _ child: Operation?) {
    tellSettled(child, tag: tag)
    if children.isEmpty {
      let value = child.flatMap(Self.succeededValue)
      let released = table.withLock { $0.release(tag, value: value) }
      withExtendedLifetime(released) {}  // released outside the lock
    }
    if dispenser.countDone(tag) { finish() }
  }

  static func succeededValue(of child: Operation) -> (any Sendable)? {
    guard child.isOwn else { return child.anyOutcome?.value }
    return child.asOwn.state.current.ending == .success ? child.asOwn.storedValue : nil
  }

  private final func finish() {
    let verdict = table.withLock { $0.endings.verdict() }
    _ = discard()
    conclude(verdict, count: count)
  }

  // MARK: - Ends of children with tags

  /// - Parameter comesBack: whether the caller then takes another piece of work, so that no other
  ///   thread need be offered that one.
  final func taggedChildEnded(_ handle: Int, _ child: Operation, comesBack: Bool) {
    guard let (tag, released) = table.withLock({ $0.take(handle) }) else { return }
    withExtendedLifetime(released) {}
    if !monitors.isEmpty {
      let number = shownTag(handle)
      waits.withLock { $0.told[number] = tag }
      tellSettled(child, tag: handle)
      waits.withLock { $0.told[number] = nil }
    }
    // The place is freed after the driver was called, which may not want another start before.
    let tags = ThreadContext.current.runUserCode { ended(child, tag: tag) }
    // The caller takes one. The others need an offer: another lane of the queue may have found
    // nothing since this one began.
    let needsOffer = !comesBack || tags.count > 1 && environment.pool != nil
    if table.withLock({ $0.freePlace(adding: tags) }), needsOffer { offer() }
  }

  // MARK: - Stopping

  final func cancelList() {
    let before = table.withLock { table in
      if !table.endings.isSettled { table.endings.wasCancelled = true }
      return closeList(&table)
    }
    if let before { carryOut(before) }
  }

  /// Called inside the lock.
  private final func closeList(_ table: inout ChildTable) -> [ChildTable.Phase]? {
    table.isClosed ? nil : table.closeList(left: dispenser.close() ?? [])
  }

  /// Ends the children of a list that was closed.
  ///
  /// - Parameter before: the phases of the children before that.
  private final func carryOut(_ before: [ChildTable.Phase]) {
    let context = ThreadContext.current
    let refusals = refusals
    for (tag, phase) in before.enumerated() where phase == .ours || phase == .claimed && !joins {
      if let child = existing(tag), !child.isFinished, refusals[tag] == nil { cancel(child, context) }
    }
    for (tag, phase) in before.enumerated() where phase == .listed || phase.isHeld {
      abandonChild(tag, mayBeTheirs: joins && phase == .listed, context)
    }
    for (tag, phase) in before.enumerated() where phase == .joined { leave(tag, existing(tag)) }
  }

  /// Stops waiting for a child. If other code ran it and it has finished, it counts with its
  /// outcome.
  final func leave(_ tag: Int, _ child: Operation?) {
    if joins, let child, child.isFinished { childEnded(tag, child) } else { childDone(tag, child) }
  }

  private final func abandonChild(_ tag: Int, mayBeTheirs: Bool, _ context: ThreadContext) {
    guard let child = existing(tag) ?? (tag == 0 ? takeWrapped() : nil) else { return childDone(tag, nil) }
    if child.isFinished { return childEnded(tag, child) }
    if abandon(child, tag: tag, joins: mayBeTheirs, context) { childDone(tag, child) }
  }

  /// Cancels the children with tags that run, and settles those that wait for their dependencies
  /// without running them.
  final func closeTags() {
    let context = ThreadContext.current
    for entry in table.withLock({ $0.closeTags() }) {
      if entry.phase == .ours {
        cancel(entry.child!, context)
      } else if abandon(entry.child!, tag: entry.handle, context) {
        taggedChildEnded(entry.handle, entry.child!, comesBack: false)
      }
    }
  }

  final func cancelWaitingInList(_ context: ThreadContext) {
    // At once: a limit that is set moves children from the dispenser to the table.
    let waiting = table.withLock { table in
      if children.isEmpty { table.cancelTags() }
      return table.waitingInList(left: dispenser.remaining).map { ($0, table.phase(of: $0) == .ready) }
    }
    for (tag, isOurs) in waiting {
      if let child = existing(tag), !child.isFinished { cancelWaiting(child, isOurs: !joins || isOurs, context) }
    }
  }

  // MARK: - Limits

  /// How many children are unfinished, if no further one may start and some wait for that.
  final var fullPlaces: Int? {
    // Inside the lock: see `startWithoutSlot(in:)`.
    table.withLock { $0.fullPlaces(done: dispenser.doneCount) }
  }

  final var width: Int {
    get { table.withLock { $0.width } }
    set { changeLimits { $0.setWidth(newValue) } }
  }

  final var isSuspended: Bool {
    get { table.withLock { $0.blocks.contains(.suspended) } }
    set { changeLimits { $0.setSuspended(newValue) } }
  }

  private final func changeLimits(_ change: (inout ChildTable) -> Void) {
    let (mayStart, isLast) = table.withLock { table in
      change(&table)
      guard isList else { return (table.kind == .tags ? table.canClaim : table.blocks.isEmpty, false) }
      isLimited.store(table.isLimited, ordering: .sequentiallyConsistent)
      guard table.blocks.isDisjoint(with: [.idle, .closed]) else { return (false, false) }
      guard table.isLimited, let left = dispenser.close() else { return (true, false) }
      // All have normal priority: otherwise the dispenser was never opened.
      table.list(left)
      return (true, dispenser.countExactly())
    }
    if isLast {
      finish()
    } else if mayStart {
      offerAll()
    }
  }
}

extension Operation {
  /// Whether the operation occupies a slot of a queue that it runs in: compositions do not, leaves
  /// do.
  final var needsSlot: Bool { (self as? SettlingOperation)?.state.current.has(.needsNoSlot) != true }
}

/// Stands for a slot where compositions start, which need none.
private final class NoSlot: WorkSlot {
  static let shared = NoSlot()

  func moreIsAvailable(in composition: Composition) {}
  func willStart(_ operation: Operation) {}
  func operationDidSettle() {}
}
