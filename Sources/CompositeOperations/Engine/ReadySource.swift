import Foundation

/// Runs operations that a driver chooses, as they become ready: the engine of ``DrivenOperation``.
final class ReadySource: WorkSource, @unchecked Sendable {  // the state is behind a lock; the rest is set before use
  private let state = LockBox(ReadyState())
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
    KnownChildren(
      contents: state.withLock { $0.operations.sorted { $0.key < $1.key }.map(\.value.operation) })
  }

  func add(tags: [Int]) {
    if state.withLock({ $0.add(tags: tags) }) { offer() }
  }

  override func runNext(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    guard
      let (operation, number, more) = state.withLock({ state in
        state.claim().map { (state.operations[$0.number]!.operation, $0.number, $0.more) }
      })
    else { return runNextTag(in: slot, context) }
    if more { slot.moreIsAvailable(in: self) }
    return run(operation, number, in: slot, context)
  }

  private func runNextTag(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    guard let claim = state.withLock({ $0.claimTag() }) else { return .nothing }
    if claim.more { slot.moreIsAvailable(in: self) }
    guard let (operation, tag) = runUserCode(context, { make(claim.tag) }) else {
      state.withLock { $0.skipTag() }
      return .done
    }
    let number = state.withLock { $0.made(operation, tag: tag) }
    if claim.isCancelled { cancelWaiting(operation, tag: number, joins: true, context) }
    tellAdded(operation, tag: number)
    return run(operation, number, in: slot, context)
  }

  private func run(
    _ operation: Operation, _ number: Int, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    if let higher = higherQualityOfService(of: operation) {
      Threads.later(qualityOfService: higher) { [self] in
        if runHere(operation, number, in: slot, ThreadContext.current) == .done { offer() }
      }
      return .done
    }
    return runHere(operation, number, in: slot, context)
  }

  private func runHere(
    _ operation: Operation, _ number: Int, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult {
    switch launch(operation, tag: number, joins: true, in: slot, context) {
    case .finished: settled(operation, number, comesBack: true)
    case .inFlight: return .inFlight
    case .elsewhere: break
    case .refused:
      if abandon(operation, tag: number, context) { operationDidSettle(operation, tag: number) }
    case .left: operationDidSettle(operation, tag: number)
    }
    return .done
  }

  override var isExhausted: Bool { state.withLock { $0.isEmpty } }

  override func operationDidSettle(_ operation: Operation, tag number: Int) {
    settled(operation, number, comesBack: false)
  }

  /// - Parameter comesBack: whether the caller then takes another piece of work, so that no other
  ///   thread need be offered that one.
  private func settled(_ operation: Operation, _ number: Int, comesBack: Bool) {
    guard let tag = state.withLock({ $0.settled(number) }) else { return }
    if !monitors.isEmpty {
      settling.withLock { $0[number] = tag }
      tellSettled(operation, tag: number)
      settling.withLock { $0[number] = nil }
    }
    // The place is freed after the driver was called, which may not want another start before.
    let tags = ThreadContext.current.runUserCode { whenSettled(operation, tag) }
    // The caller takes one. The others need an offer: another lane of the queue may have found
    // nothing since this one began.
    let needsOffer = !comesBack || tags.count > 1 && environment.pool != nil
    if state.withLock({ $0.freePlace(adding: tags) }), needsOffer { offer() }
  }

  override func attempt(of number: Int) -> Int {
    settling.withLock { $0[number] }.map(attempt) ?? 1
  }

  override func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    let operations = state.withLock { $0.operations }
    for (number, entry) in operations.sorted(by: { $0.key < $1.key }) { body(entry.operation, number) }
  }

  override func cancelWaiting() {
    let context = ThreadContext.current
    let waiting = state.withLock { state in
      state.cancelTags()
      return state.waiting
    }
    // These have waited for their dependencies, so this source starts them.
    for (number, operation) in waiting { cancelWaiting(operation, tag: number, joins: false, context) }
  }

  /// Cancels the operations that run, and settles those that wait for their dependencies without
  /// running them.
  func cancelAll() {
    let context = ThreadContext.current
    let (abandoned, operations) = state.withLock { ($0.close(), $0.operations) }
    let isAbandoned = Set(abandoned)
    for (number, entry) in operations.sorted(by: { $0.key < $1.key }) {
      if !isAbandoned.contains(number) {
        if state.withLock({ $0.owns(number) }) { cancel(entry.operation, context) }
      } else if abandon(entry.operation, tag: number, context) {
        operationDidSettle(entry.operation, tag: number)
      }
    }
  }

  // MARK: - Ownership and dependencies

  override func owns(_ number: Int) -> Bool {
    state.withLock { $0.owns(number) }
  }

  override func childIsOwned(_ number: Int) -> Bool {
    state.withLock { $0.own(number) }
  }

  override func childIsJoined(_ number: Int) -> Bool {
    state.withLock { $0.join(number) }
  }

  override func childWillWait(_ number: Int) -> Bool {
    state.withLock { $0.park(number) }
  }

  override func childBecameReady(_ number: Int) {
    let operation = state.withLock { $0.operations[number]?.operation }
    let priority = operation?.queuePriority ?? .normal
    if state.withLock({ $0.unpark(number, priority: priority) }) { offer() }
  }

  override var nextPriority: Operation.QueuePriority {
    state.withLock { $0.firstPriority } ?? .normal
  }

  // MARK: - Limits

  override var isLimiting: Bool { state.withLock { $0.width < .max } }

  var width: Int {
    get { state.withLock { $0.width } }
    set { if state.withLock({ $0.setWidth(newValue) }) { offer() } }
  }

  var isSuspended: Bool {
    get { state.withLock { $0.isSuspended } }
    set { if state.withLock({ $0.setSuspended(newValue) }) { offer() } }
  }

  /// Sets both, and offers nothing. Returns whether the caller has to.
  func setLimits(width: Int, isSuspended: Bool) -> Bool {
    state.withLock { state in
      _ = state.setWidth(width)
      return state.setSuspended(isSuspended)
    }
  }

  override var progressShape: ProgressShape { .driven(countDone()) }
}
