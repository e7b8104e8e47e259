import Foundation

/// Runs operations that a driver chooses, as they become ready: the engine of ``DrivenOperation``.
///
/// The source launches and observes a child by its handle in the table. Monitors see the number.
final class ReadySource: WorkSource, @unchecked Sendable {  // the table is behind a lock; the rest is set before use
  let table = LockBox(ChildTable())
  private let make: @Sendable (_ tag: Int) -> (Operation, tag: Int)?
  private let whenSettled: @Sendable (Operation, _ tag: Int) -> [Int]
  private let countDone: @Sendable () -> (done: Int, total: Int)?
  private let attempt: @Sendable (_ tag: Int) -> Int
  /// The tags, by number, of operations whose settlement monitors are being notified of.
  private let settling = LockBox<[Int: Int]>([:])

  /// - Parameters:
  ///   - make: makes the operation of a tag, when and where it may start.
  ///   - whenSettled: called once for each operation, on the thread that settled it or a worker.
  ///     Returns the tags that can run in consequence.
  ///   - countDone: the total amount of work and how much is done, for progress; nil if unknown.
  ///   - attempt: the number of the attempt that a settling operation is.
  init(
    make: @escaping @Sendable (_ tag: Int) -> (Operation, tag: Int)?,
    whenSettled: @escaping @Sendable (Operation, _ tag: Int) -> [Int],
    countDone: @escaping @Sendable () -> (done: Int, total: Int)? = { nil },
    attempt: @escaping @Sendable (_ tag: Int) -> Int = { _ in 1 }
  ) {
    self.make = make
    self.whenSettled = whenSettled
    self.countDone = countDone
    self.attempt = attempt
  }

  override var kind: OperationKind { .graph }

  override var knownChildren: KnownChildren {
    KnownChildren(contents: table.withLock { $0.entries }.compactMap(\.child))
  }

  func add(tags: [Int]) {
    if table.withLock({ $0.add(tags: tags) }) { offer() }
  }

  // MARK: - Running

  override func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    guard let claim = table.withLock({ $0.claim() }) else { return .nothing }
    if claim.more { slot.moreIsAvailable(in: self) }
    if let child = claim.child {
      return run(child, claim.handle, isOurs: true, higherQualityOfService(of: child), in: slot, context)
    }
    guard let (child, tag) = runUserCode(context, { make(claim.tag) }) else {
      table.withLock { $0.skip(claim.handle) }
      return .done
    }
    let higher = higherQualityOfService(of: child)
    // Recorded and adopted in one step. Another thread adopts a child of higher quality of service.
    // A child that other code starts is joined at its launch, after monitors have heard of the child.
    let isOurs = higher == nil && child.isOwn && child.asOwn.adopt()
    let isOpen = table.withLock { $0.made(claim.handle, child, tag: tag, isOurs ? .ours : .claimed) }
    if claim.isCancelled { cancelWaiting(child, tag: claim.handle, joins: !isOurs, context) }
    tellAdded(child, tag: claim.handle)
    if isOurs, !isOpen {
      refused(child, claim.handle, context)
      return .done
    }
    return run(child, claim.handle, isOurs: isOurs, higher, in: slot, context)
  }

  /// - Parameter isOurs: whether this source has adopted the child.
  @inline(__always)
  private func run(
    _ child: Operation, _ handle: Int, isOurs: Bool, _ higher: QualityOfService?, in slot: any WorkSlot,
    _ context: ThreadContext
  ) -> WorkResult {
    guard let higher else { return runHere(child, handle, isOurs: isOurs, in: slot, context) }
    Threads.later(qualityOfService: higher) { [self] in
      if runHere(child, handle, isOurs: isOurs, in: slot, ThreadContext.current) == .done { offer() }
    }
    return .done
  }

  private func runHere(
    _ child: Operation, _ handle: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    switch launch(child, tag: handle, joins: true, isOurs: isOurs, in: slot, context) {
    case .finished: settled(child, handle, comesBack: true)
    case .inFlight: return .inFlight
    case .elsewhere: break
    case .refused: refused(child, handle, context)
    case .left: operationDidSettle(child, tag: handle)
    }
    return .done
  }

  private func refused(_ child: Operation, _ handle: Int, _ context: ThreadContext) {
    if abandon(child, tag: handle, context) { operationDidSettle(child, tag: handle) }
  }

  override var isExhausted: Bool { table.withLock { $0.isEmpty } }

  override func operationDidSettle(_ child: Operation, tag handle: Int) {
    settled(child, handle, comesBack: false)
  }

  /// - Parameter comesBack: whether the caller then takes another piece of work, so that no other
  ///   thread need be offered that one.
  private func settled(_ child: Operation, _ handle: Int, comesBack: Bool) {
    guard let (tag, _) = table.withLock({ $0.take(handle) }) else { return }
    if !monitors.isEmpty {
      let number = ChildTable.number(of: handle)
      settling.withLock { $0[number] = tag }
      tellSettled(child, tag: handle)
      settling.withLock { $0[number] = nil }
    }
    // The place is freed after the driver was called, which may not want another start before.
    let tags = ThreadContext.current.runUserCode { whenSettled(child, tag) }
    // The caller takes one. The others need an offer: another lane of the queue may have found
    // nothing since this one began.
    let needsOffer = !comesBack || tags.count > 1 && environment.pool != nil
    if table.withLock({ $0.freePlace(adding: tags) }), needsOffer { offer() }
  }

  override func attempt(of number: Int) -> Int {
    settling.withLock { $0[number] }.map(attempt) ?? 1
  }

  override func shownTag(_ handle: Int) -> Int { ChildTable.number(of: handle) }

  override func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    for entry in table.withLock({ $0.entries }) { body(entry.child!, ChildTable.number(of: entry.handle)) }
  }

  // MARK: - Cancelling

  override func cancelWaiting() {
    let context = ThreadContext.current
    let waiting = table.withLock { table in
      table.cancelTags()
      return table.entries.filter { $0.phase == .ready }
    }
    // These have waited for their dependencies, so this source starts them.
    for entry in waiting { cancelWaiting(entry.child!, tag: entry.handle, joins: false, context) }
  }

  /// Cancels the operations that run, and settles those that wait for their dependencies without
  /// running them.
  func cancelAll() {
    let context = ThreadContext.current
    for entry in table.withLock({ $0.close() }) {
      if entry.phase == .ours {
        cancel(entry.child!, context)
      } else if abandon(entry.child!, tag: entry.handle, context) {
        operationDidSettle(entry.child!, tag: entry.handle)
      }
    }
  }

  // MARK: - Ownership and dependencies

  override func owns(_ handle: Int) -> Bool { table.withLock { $0.owns(handle) } }

  override func childIsOwned(_ handle: Int) -> Bool { table.withLock { $0.mark(handle, .ours) } }

  override func childIsJoined(_ handle: Int) -> Bool { table.withLock { $0.mark(handle, .joined) } }

  override func childWillWait(_ handle: Int) -> Bool { table.withLock { $0.mark(handle, .waiting) } }

  override func childBecameReady(_ handle: Int) {
    let priority = table.withLock { $0.child(handle) }?.queuePriority ?? .normal
    if table.withLock({ $0.unpark(handle, priority: priority) }) { offer() }
  }

  override var nextPriority: Operation.QueuePriority { table.withLock { $0.firstPriority } ?? .normal }

  // MARK: - Limits

  override var isLimiting: Bool { table.withLock { $0.width < .max } }

  var width: Int {
    get { table.withLock { $0.width } }
    set { if table.withLock({ $0.setWidth(newValue) }) { offer() } }
  }

  var isSuspended: Bool {
    get { table.withLock { $0.blocks.contains(.suspended) } }
    set { if table.withLock({ $0.setSuspended(newValue) }) { offer() } }
  }

  /// Sets both, and offers nothing. Returns whether the caller has to.
  func setLimits(width: Int, isSuspended: Bool) -> Bool {
    table.withLock { table in
      _ = table.setWidth(width)
      return table.setSuspended(isSuspended)
    }
  }

  override var progressShape: ProgressShape { .driven(countDone()) }
}
