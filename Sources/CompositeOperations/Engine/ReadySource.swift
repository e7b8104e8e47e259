import Foundation

/// Runs operations that somebody else decides on, as they become ready: the engine of ``DrivenOperation``.
final class ReadySource: WorkSource, @unchecked Sendable {  // the state is behind a lock; the rest is set before use
  private let state = LockBox(ReadyState())
  private let make: @Sendable (_ tag: Int) -> (Operation, tag: Int)?
  private let whenSettled: @Sendable (Operation, _ tag: Int) -> [Int]
  private let countDone: @Sendable () -> (done: Int, total: Int)?
  private let attempt: @Sendable (_ tag: Int) -> Int
  /// The tags of operations that monitors are just told of, by number.
  private let settling = LockBox<[Int: Int]>([:])

  /// - Parameters:
  ///   - make: makes the operation for a tag, when it may start, where it will.
  ///   - whenSettled: called once for each operation, on the thread that settled it or a worker. Returns the tags that
  ///     can run in consequence.
  ///   - countDone: how much there is and how much of it is done, for progress; nil if that is not known.
  ///   - attempt: which attempt at its work an operation is that settles.
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
    guard let (operation, tag) = context.runUserCode({ make(claim.tag) }) else {
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

  override func operationDidSettle(_ operation: Operation, tag number: Int) {
    settled(operation, number, comesBack: false)
  }

  /// - Parameter comesBack: whether the caller looks for more to do after this, so that what can run in consequence need
  ///   not be offered to anybody else.
  private func settled(_ operation: Operation, _ number: Int, comesBack: Bool) {
    guard let tag = state.withLock({ $0.settled(number) }) else { return }
    if !monitors.isEmpty {
      settling.withLock { $0[number] = tag }
      tellSettled(operation, tag: number)
      settling.withLock { $0[number] = nil }
    }
    // Its place is free only then: the driver may not want another one to start before it knows of this end.
    let tags = ThreadContext.current.runUserCode { whenSettled(operation, tag) }
    if state.withLock({ $0.freePlace(adding: tags) }), !comesBack { offer() }
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
    // Those that have waited for their dependencies: ours.
    for (number, operation) in waiting { cancelWaiting(operation, tag: number, joins: false, context) }
  }

  /// Cancels everything: what is under way, and what waits for its dependencies, which is settled without being run.
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
    state.withLock { !$0.isClosed }
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

  var width: Int {
    get { state.withLock { $0.width } }
    set { if state.withLock({ $0.setWidth(newValue) }) { offer() } }
  }

  var isSuspended: Bool {
    get { state.withLock { $0.isSuspended } }
    set { if state.withLock({ $0.setSuspended(newValue) }) { offer() } }
  }
  override func setHeld(_ isHeld: Bool) {
    if state.withLock({ $0.setHeld(isHeld) }) { offer() }
  }

  override var progressShape: ProgressShape { .driven(countDone()) }
}
