import Foundation

/// The state of a sequential composition.
///
/// ```
/// idle ──begin──▶ ready ──claim──▶ asking ──begin(child)──▶ running ──settled──▶ ready, or asking at once
///                                    │                       │   ▲
///                                    │           wait ◀──────┘   └── claim
///                                    │             └─ waiting ──unwait──▶ launchable
///                                    └── nothing more, error, cancel ──▶ ended
/// ```
///
/// Only the thread in *asking* calls the delegate.
struct SequentialState {
  enum Phase: Equatable, CaseIterable {
    case idle, ready, asking, running, waiting, launchable, ended
  }

  /// Whether this composition or other code starts, and may cancel, the current child.
  enum Ownership: Equatable, CaseIterable {
    case unknown, ours, theirs
  }

  private(set) var phase = Phase.idle
  /// When ready, the operation to pass to the delegate; when running or waiting, the current child.
  private(set) var current: Operation?
  private(set) var ownership = Ownership.unknown
  /// The number of children so far, the current one included.
  private(set) var count = 0
  private(set) var isCancelled = false
  private(set) var isSuspended = false
  /// Whether to cancel the next child, because `cancelWaiting()` was called before it was known.
  private(set) var cancelsNext = false
  /// The outcomes of the children; nil if they are not recorded.
  var records: SequentialRecords?

  init(records: SequentialRecords? = nil) {
    self.records = records
  }

  // MARK: - Begin

  mutating func begin(cancelled: Bool) {
    precondition(phase == .idle, "begin() in \(phase)")
    isCancelled = isCancelled || cancelled
    phase = isCancelled ? .running : .ready
  }

  // MARK: - Asking

  enum Claim {
    /// Pass this operation, which was number `count`, to the delegate.
    case ask(Operation?, count: Int)
    /// Start the current child, number `count`, which has waited for its dependencies.
    case launch(Operation, count: Int)
    case nothing
  }

  mutating func claim() -> Claim {
    switch phase {
    case .ready:
      guard !isSuspended else { return .nothing }
      phase = .asking
      return .ask(current.take(), count: count)
    case .launchable:
      guard !isSuspended, let current else { return .nothing }
      phase = .running
      return .launch(current, count: count)
    case .idle, .asking, .running, .waiting, .ended:
      return .nothing
    }
  }

  enum Begin: Equatable {
    case launch(thenCancel: Bool)
    /// The composition was suspended in the meantime: the child waits for its turn.
    case hold(thenCancel: Bool)
    /// The composition was cancelled in the meantime: settle the child without running it.
    case abandon
  }

  /// The delegate returned an operation.
  mutating func begin(_ child: Operation, ownership: Ownership) -> Begin {
    precondition(phase == .asking, "begin(_:) in \(phase)")
    count += 1
    current = child
    self.ownership = ownership
    phase = .running
    guard !isCancelled else { return .abandon }
    defer { cancelsNext = false }
    guard !isSuspended else {
      phase = .launchable
      return .hold(thenCancel: cancelsNext)
    }
    return .launch(thenCancel: cancelsNext)
  }

  /// The delegate returned nil, or threw.
  mutating func end() {
    precondition(phase == .asking, "end() in \(phase)")
    phase = .ended
  }

  // MARK: - The current child

  /// Records whether this composition or other code starts the child. Returns false if it is
  /// no longer started or awaited.
  mutating func setOwnership(_ ownership: Ownership) -> Bool {
    guard phase == .running, !isCancelled else { return false }
    self.ownership = ownership
    return true
  }

  /// Lets the child wait for its dependencies. Returns false if it may no longer start.
  mutating func wait() -> Bool {
    guard phase == .running, !isCancelled else { return false }
    phase = .waiting
    return true
  }

  /// Ends the wait of child number `tag`. Returns false if that no longer matters.
  mutating func unwait(_ tag: Int) -> Bool {
    guard phase == .waiting, tag == count else { return false }
    phase = .launchable
    return true
  }

  /// Whether child number `tag` is the one that is awaited.
  private func isRunning(_ tag: Int) -> Bool { phase == .running && tag == count }

  /// Prepares to notify monitors of the end of child number `tag`, before it counts. Returns false
  /// if it is not awaited. A cancel in between settles nothing: the notifying thread does.
  mutating func tellSettled(_ tag: Int) -> Bool {
    guard isRunning(tag) else { return false }
    ownership = .unknown
    return true
  }

  enum Settled {
    /// Go on, with the claim if the caller wanted one.
    case proceed(Claim)
    /// The composition was cancelled: settle it.
    case end
    /// The child is not awaited.
    case ignore
  }

  /// Records that child number `tag` has succeeded: the step that a long sequence repeats, so it is
  /// separate.
  @inline(__always)
  mutating func succeeded(
    _ tag: Int, _ value: @autoclosure () -> any Sendable, claiming: Bool, isLast: Bool = false
  ) -> Settled {
    guard isRunning(tag) else { return .ignore }
    records?.append(value())
    return proceed(claiming: claiming, isLast: isLast)
  }

  /// Records the outcome of child number `tag`, whose name is `name`.
  ///
  /// - Parameter isLast: whether no child follows, so that nothing is held back: the caller claims.
  mutating func settled(
    _ tag: Int, _ outcome: Outcome<any Sendable>, name: String? = nil, claiming: Bool, isLast: Bool = false
  ) -> Settled {
    guard isRunning(tag) else { return .ignore }
    records?.append(outcome, index: tag - 1, name: name)
    return proceed(claiming: claiming, isLast: isLast)
  }

  private mutating func proceed(claiming: Bool, isLast: Bool) -> Settled {
    guard !isCancelled else {
      phase = .ended
      current = nil
      return .end
    }
    if isLast {
      phase = .asking
      return .proceed(.ask(current.take(), count: count))
    }
    phase = .ready
    return .proceed(claiming ? claim() : .nothing)
  }

  // MARK: - Cancel, suspend

  enum Cancel {
    case nothing
    /// Cancel the current child; the composition ends when it has finished.
    case cancel(Operation)
    /// Settle the current child, number `count`, which has not started, without running it.
    case abandon(Operation, count: Int)
    /// No child runs: settle the one that was to come, if there is one, and then the composition.
    /// The caller releases the child before, whose deinitializer is the user's, outside the lock.
    case unwind(after: Operation?)
    /// Settle the composition without waiting for the current child, number `count`, which other
    /// code started.
    case leave(Operation, count: Int)
  }

  mutating func cancel() -> Cancel {
    guard !isCancelled, phase != .ended else { return .nothing }
    isCancelled = true
    switch phase {
    case .idle, .asking, .ended:
      return .nothing  // the thread that begins or asks will see it
    case .ready:
      phase = .running
      return .unwind(after: current.take())
    case .running:
      switch ownership {
      case .unknown:
        return .nothing  // the thread that starts it or notifies monitors will see it
      case .ours:
        return current.map { .cancel($0) } ?? .nothing
      case .theirs:
        phase = .ended
        return current.take().map { .leave($0, count: count) } ?? .nothing
      }
    case .waiting, .launchable:
      phase = .running
      return current.map { .abandon($0, count: count) } ?? .nothing
    }
  }

  /// Makes `child` current, to be settled without running it: the composition was cancelled before.
  mutating func unwind(_ child: Operation) {
    precondition(phase == .running && isCancelled, "unwind(_:) in \(phase)")
    count += 1
    current = child
  }

  /// Ends a cancelled composition that awaits nothing: other code started the current child, or
  /// there is none.
  mutating func leave() {
    precondition(phase == .running && isCancelled, "leave() in \(phase)")
    phase = .ended
    current = nil
  }

  /// Cancels what waits for its turn. Returns the current child, if it waits.
  mutating func cancelWaiting() -> Operation? {
    switch phase {
    case .ready:
      cancelsNext = true
      return nil
    case .waiting, .launchable:
      return current
    case .idle, .asking, .running, .ended:
      return nil
    }
  }

  mutating func setSuspended(_ isSuspended: Bool) { self.isSuspended = isSuspended }
}

/// The outcomes of the children of a sequence. As long as all succeed it holds their values only,
/// which takes a third of the memory.
struct SequentialRecords {
  /// The values of the children that succeeded, in order.
  private(set) var values: [any Sendable] = []
  private(set) var failures: [CompositeError.Failure] = []
  /// The outcome of the last child.
  private(set) var last = OperationState.Ending.none
  private var allOutcomes: [Outcome<any Sendable>]?

  /// Releases everything when the composition is deinitialized.
  mutating func release() {
    allOutcomes = nil
    NestedResults.release(&values)
  }

  var outcomes: [Outcome<any Sendable>] { allOutcomes ?? values.map { .success($0) } }

  /// One succeeded.
  @inline(__always)
  mutating func append(_ value: any Sendable) {
    allOutcomes?.append(.success(value))
    values.append(value)
    last = .success
  }

  mutating func append(_ outcome: Outcome<any Sendable>, index: Int, name: String?) {
    if let value = outcome.value { return append(value) }
    last = .cancelled
    if let error = outcome.error {
      failures.append(CompositeError.Failure(index: index, operationName: name, error: error))
      last = .failure
    }
    // From the first unsuccessful child on, records outcomes as well as values.
    if allOutcomes == nil { allOutcomes = outcomes }
    allOutcomes?.append(outcome)
  }
}
