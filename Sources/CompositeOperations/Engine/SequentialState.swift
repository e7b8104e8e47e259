import Foundation

/// What a sequential composition knows.
///
/// ```
/// idle ──begin──▶ ready ──claim──▶ asking ──begin(child)──▶ running ──settled──▶ ready, or asking at once
///                                    │                       │   ▲
///                                    │           wait ◀──────┘   └── claim
///                                    │             └─ waiting ──unwait──▶ launchable
///                                    └── nothing more, error, cancel ──▶ ended
/// ```
///
/// Whoever is *asking* is alone with the delegate.
struct SequentialState {
  enum Phase: Equatable, CaseIterable {
    case idle, ready, asking, running, waiting, launchable, ended
  }

  /// Whose the current child is to start and to cancel.
  enum Ownership: Equatable, CaseIterable {
    case unknown, ours, theirs
  }

  private(set) var phase = Phase.idle
  /// What the delegate is asked about when ready, or the current child when running or waiting.
  private(set) var current: Operation?
  private(set) var ownership = Ownership.unknown
  /// How many children there were, the current one included.
  private(set) var count = 0
  private(set) var isCancelled = false
  private(set) var isSuspended = false
  /// Whether children are held back by a progress that is paused. Apart from `isSuspended`, which is the user's.
  private(set) var isHeld = false
  /// Whether the child that comes next is cancelled, because it waited for its turn when all that wait were.
  private(set) var cancelsNext = false
  /// How the children ended; nil if nobody wants to know.
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
    /// Ask the delegate about this operation, which was number `count`.
    case ask(Operation?, count: Int)
    /// Start the current child, number `count`: it has waited for its dependencies.
    case launch(Operation, count: Int)
    case nothing
  }

  mutating func claim() -> Claim {
    switch phase {
    case .ready:
      guard !isSuspended, !isHeld else { return .nothing }
      phase = .asking
      return .ask(current.take(), count: count)
    case .launchable:
      guard !isSuspended, !isHeld, let current else { return .nothing }
      phase = .running
      return .launch(current, count: count)
    case .idle, .asking, .running, .waiting, .ended:
      return .nothing
    }
  }

  enum Begin: Equatable {
    case launch(thenCancel: Bool)
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
    return .launch(thenCancel: cancelsNext)
  }

  /// The delegate returned nil, or threw.
  mutating func end() {
    precondition(phase == .asking, "end() in \(phase)")
    phase = .ended
  }

  // MARK: - The current child

  /// It turned out to be ours to start, or somebody else's. False if it is neither started nor waited for any more.
  mutating func setOwnership(_ ownership: Ownership) -> Bool {
    guard phase == .running, !isCancelled else { return false }
    self.ownership = ownership
    return true
  }

  /// It has to wait for its dependencies. False if it may not start any more.
  mutating func wait() -> Bool {
    guard phase == .running, !isCancelled else { return false }
    phase = .waiting
    return true
  }

  /// The dependencies of child number `tag` have finished. False if that does not matter any more.
  mutating func unwait(_ tag: Int) -> Bool {
    guard phase == .waiting, tag == count else { return false }
    phase = .launchable
    return true
  }

  /// Whether child number `tag` is the one that is waited for.
  private func isRunning(_ tag: Int) -> Bool { phase == .running && tag == count }

  /// Child number `tag` has finished; monitors are to be told before it counts. False if it is not waited for. A cancel
  /// in between ends nothing: whoever tells them does.
  mutating func tellSettled(_ tag: Int) -> Bool {
    guard isRunning(tag) else { return false }
    ownership = .unknown
    return true
  }

  enum Settled {
    /// Ask again, at once if that was wanted.
    case proceed(Claim)
    /// The composition was cancelled: settle it.
    case end
    /// Nobody waits for it.
    case ignore
  }

  /// Child number `tag` has succeeded. Apart from the others, because it is the step that a long sequence repeats.
  @inline(__always)
  mutating func succeeded(_ tag: Int, _ value: @autoclosure () -> any Sendable, claiming: Bool) -> Settled {
    guard isRunning(tag) else { return .ignore }
    records?.append(value())
    return proceed(claiming: claiming)
  }

  /// Child number `tag`, which is called `name`, has finished.
  mutating func settled(
    _ tag: Int, _ outcome: Outcome<any Sendable>, name: String? = nil, claiming: Bool
  ) -> Settled {
    guard isRunning(tag) else { return .ignore }
    records?.append(outcome, index: tag - 1, name: name)
    return proceed(claiming: claiming)
  }

  private mutating func proceed(claiming: Bool) -> Settled {
    guard !isCancelled else {
      phase = .ended
      current = nil
      return .end
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
    /// Nothing is under way: settle what was to come, if there is something, and then the composition.
    case unwind
    /// Settle the composition, which does not wait for the current child, number `count`: it is somebody else's.
    case leave(Operation, count: Int)
  }

  mutating func cancel() -> Cancel {
    guard !isCancelled else { return .nothing }
    switch phase {
    case .ended:
      return .nothing
    case .idle, .asking:
      isCancelled = true
      return .nothing  // whoever begins, or is asking, will see it
    case .ready:
      isCancelled = true
      phase = .running
      current = nil
      return .unwind
    case .running:
      isCancelled = true
      switch ownership {
      case .unknown:
        return .nothing  // whoever is starting it, or tells of its settlement, will see it
      case .ours:
        return current.map { .cancel($0) } ?? .nothing
      case .theirs:
        phase = .ended
        return current.take().map { .leave($0, count: count) } ?? .nothing
      }
    case .waiting, .launchable:
      isCancelled = true
      phase = .running
      return current.map { .abandon($0, count: count) } ?? .nothing
    }
  }

  /// The composition was cancelled before this operation was asked for; it is settled without being run.
  mutating func unwind(_ child: Operation) {
    precondition(phase == .running && isCancelled, "unwind(_:) in \(phase)")
    count += 1
    current = child
  }

  /// The composition was cancelled, and waits for nothing: the current child is somebody else's, or there is none.
  mutating func leave() {
    precondition(phase == .running && isCancelled, "leave() in \(phase)")
    phase = .ended
    current = nil
  }

  /// Cancels what waits for its turn. Returns the child, if it is that.
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

  mutating func setHeld(_ isHeld: Bool) { self.isHeld = isHeld }
}

/// How the children of a sequence ended. Until one does not succeed it holds their values only, which takes a third
/// of the memory.
struct SequentialRecords {
  /// The values of those that succeeded, in order.
  private(set) var values: [any Sendable] = []
  private(set) var failures: [CompositeError.Failure] = []
  /// How the last one ended.
  private(set) var last = OperationState.Ending.none
  private var allOutcomes: [Outcome<any Sendable>]?

  /// Gives everything up, when the composition is being released.
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
    switch outcome {
    case .success(let value):
      append(value)
    case .failure(let error):
      appendUnsuccessful(outcome)
      failures.append(CompositeError.Failure(index: index, operationName: name, error: error))
      last = .failure
    case .cancelled:
      appendUnsuccessful(outcome)
      last = .cancelled
    }
  }

  /// From the first of these on the values alone do not tell any more.
  private mutating func appendUnsuccessful(_ outcome: Outcome<any Sendable>) {
    if allOutcomes == nil { allOutcomes = outcomes }
    allOutcomes?.append(outcome)
  }
}
