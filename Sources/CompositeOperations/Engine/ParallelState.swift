import Foundation

/// The state of a parallel composition, except for its lock-free fast path: the dispenser, which
/// hands out children and counts those that are done.
///
/// ```
/// idle ──begin──▶ running ──failure, cancel──▶ closing ──all done──▶ settled
///                    └────────────────all done─────────────────────────▲
/// ```
///
/// *Closing* means that no further child starts.
struct ParallelState {
  enum Phase: Equatable, CaseIterable {
    case idle, running, closing, settled
  }

  enum Policy: Equatable, CaseIterable {
    case cancelRemaining, waitForAll
    /// The first success ends it; failures do not matter while a child may still succeed.
    case firstSuccess
    /// The outcomes of children do not affect that of the composition.
    case settleAll
  }

  struct Failure {
    let tag: Int
    let error: any Error
  }

  let count: Int
  var policy: Policy
  private(set) var phase = Phase.idle
  /// How many children may be in flight.
  private(set) var width = Int.max
  private(set) var isSuspended = false

  /// How many children were handed out by `claim`, and by the dispenser once that is closed.
  private(set) var handedOut = 0
  /// Children that can start and that the dispenser does not hand out.
  private(set) var ready = ReadyQueue()
  /// Child compositions that can start without a slot of the queue; the starter starts them.
  private(set) var readyWithoutSlot = ReadyQueue()
  /// Whether a starter is about to start one.
  private(set) var hasStarter = false
  /// The place of the child that was last added to either queue.
  private var lastPlace = 0
  /// Children that were handed out and wait for their dependencies.
  private(set) var parked: Set<Int> = []
  /// If other code may start children: those that this composition starts.
  private(set) var owned: Set<Int> = []
  /// If other code may start children: those that it started and that have not finished.
  private(set) var joined: Set<Int> = []

  /// In the order in which they happened.
  private(set) var failures: [Failure] = []
  private(set) var wasCancelled = false
  private(set) var sawOutsideCancel = false
  private(set) var winner: Int?

  init(count: Int, policy: Policy) {
    self.count = count
    self.policy = policy
  }

  // MARK: - Begin

  /// Begins when the owner starts; if it was cancelled before, no child will start.
  mutating func begin(cancelled: Bool) {
    precondition(phase == .idle, "begin() in \(phase)")
    wasCancelled = wasCancelled || cancelled
    phase = wasCancelled ? .closing : .running
  }

  /// Records a child that cannot be used. The caller abandons all children.
  mutating func refuse(_ tag: Int, _ error: any Error) {
    precondition(phase == .running || phase == .closing, "refuse() in \(phase)")
    failures.append(Failure(tag: tag, error: error))
    phase = .closing
  }

  // MARK: - Handing out

  enum Claim: Equatable {
    /// Start this child; `more` if another one may start at the same time.
    case child(Int, more: Bool)
    case nothing
  }

  /// - Parameter done: how many children are done.
  mutating func claim(done: Int) -> Claim {
    guard mayStart(ready, beside: readyWithoutSlot, done: done), let tag = ready.popFirst() else { return .nothing }
    handedOut += 1
    return .child(tag, more: mayStart(ready, beside: readyWithoutSlot, done: done))
  }

  /// Whether limit and suspension allow the first of these to start. Those of `others` that come
  /// before it may start too, so there must be room for them.
  private func mayStart(_ children: ReadyQueue, beside others: ReadyQueue, done: Int) -> Bool {
    guard phase == .running, !isSuspended, !children.isEmpty else { return false }
    let inFlight = handedOut - parked.count - done
    guard inFlight < width, width < .max, !others.isEmpty else { return inFlight < width }
    return others.count(beforeFirstOf: children) < width - inFlight
  }

  /// Adds a child for `claim`, or for the starter, to hand out.
  mutating func add(ready tag: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) {
    lastPlace += 1
    if needsSlot {
      ready.append(tag, priority: priority, place: lastPlace)
    } else {
      readyWithoutSlot.append(tag, priority: priority, place: lastPlace)
    }
  }

  /// Returns whether the caller must become the starter. An existing starter finds what is to
  /// start.
  mutating func callStarter(done: Int) -> Bool {
    guard !hasStarter, mayStart(readyWithoutSlot, beside: ready, done: done) else { return false }
    hasStarter = true
    return true
  }

  /// Returns what the starter starts, and ends its role; `more` if it must call the next starter.
  mutating func claimWithoutSlot(done: Int) -> (tag: Int, more: Bool)? {
    hasStarter = false
    guard mayStart(readyWithoutSlot, beside: ready, done: done), let tag = readyWithoutSlot.popFirst() else {
      return nil
    }
    handedOut += 1
    return (tag, callStarter(done: done))
  }

  /// Takes over the children, all of normal priority, that the closed dispenser has not handed out.
  mutating func dispenserClosed(leaving rest: [Range<Int>]) {
    handedOut += count - rest.reduce(0) { $0 + $1.count }
    for tag in rest.joined() { add(ready: tag, priority: .normal) }
  }

  // MARK: - Dependencies

  /// Lets a child that was handed out wait for its dependencies. Returns false if it may no
  /// longer start.
  mutating func park(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    parked.insert(tag)
    return true
  }

  /// Makes a child ready whose dependencies have finished. Returns false if that no longer matters.
  mutating func unpark(_ tag: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) -> Bool {
    guard parked.remove(tag) != nil, phase == .running else { return false }
    handedOut -= 1
    add(ready: tag, priority: priority, needsSlot: needsSlot)
    return true
  }

  // MARK: - Children that others started

  /// Records that this composition starts a child. Returns false if no further child may start.
  mutating func own(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    owned.insert(tag)
    return true
  }

  /// Records a child that is about to be abandoned, and is then awaited like those that run.
  /// Returns whether it is known to be this composition's.
  mutating func abandon(_ tag: Int) -> Bool { !owned.insert(tag).inserted }

  /// Records a running child that other code started. Returns false if it need no longer be
  /// awaited.
  mutating func join(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    owned.remove(tag)
    joined.insert(tag)
    return true
  }

  /// Records that such a child has finished. Returns false if it was counted before.
  mutating func leave(_ tag: Int) -> Bool {
    joined.remove(tag) != nil
  }

  // MARK: - Endings of children

  /// What to do when no further child may start.
  struct Close: Equatable {
    /// Children to settle without running them.
    var abandoned: Set<Int> = []
    /// More of them: those that the dispenser had not handed out, ascending.
    var notHandedOut: [Range<Int>] = []
    /// Children that are not awaited: other code started them, or they cannot be used.
    var left: Set<Int> = []

    /// All other children, ascending.
    func handedOut(of count: Int) -> some Sequence<Int> {
      let starts = [0] + notHandedOut.map(\.upperBound)
      let ends = notHandedOut.map(\.lowerBound) + [count]
      return zip(starts, ends).lazy.map { $0..<$1 }.joined()
    }
  }

  mutating func childFailed(_ tag: Int, _ error: any Error) -> Close? {
    guard policy != .settleAll else { return nil }
    failures.append(Failure(tag: tag, error: error))
    switch policy {
    case .cancelRemaining: return close()
    case .waitForAll, .firstSuccess, .settleAll: return nil
    }
  }

  mutating func childWasCancelled() -> Close? {
    switch (phase, policy) {
    case (.idle, _), (.settled, _), (.closing, _):
      return nil  // we cancelled it
    case (.running, .cancelRemaining):
      sawOutsideCancel = true
      return close()
    case (.running, .waitForAll), (.running, .firstSuccess):
      sawOutsideCancel = true
      return nil
    case (.running, .settleAll):
      return nil
    }
  }

  mutating func childSucceeded(_ tag: Int) -> Close? {
    guard policy == .firstSuccess, phase == .running else { return nil }
    winner = tag
    return close()
  }

  /// The owner was cancelled.
  mutating func cancel() -> Close? {
    guard phase != .settled else { return nil }
    wasCancelled = true
    return close()
  }

  private mutating func close() -> Close? {
    guard phase == .running else { return nil }
    phase = .closing
    defer {
      parked = []
      joined = []
    }
    return Close(abandoned: parked.union(ready.removeAll()).union(readyWithoutSlot.removeAll()), left: joined)
  }

  // MARK: - Limits

  /// Whether children wait for a place or for their dependencies.
  var hasWaiting: Bool { !(ready.isEmpty && readyWithoutSlot.isEmpty && parked.isEmpty) }

  /// How many children are in flight, if there is no place for those that are ready.
  func fullPlaces(done: Int) -> Int? {
    let inFlight = handedOut - parked.count - done
    guard phase == .running, inFlight >= width, !(ready.isEmpty && readyWithoutSlot.isEmpty) else { return nil }
    return inFlight
  }

  mutating func setWidth(_ width: Int) {
    precondition(width > 0, "A width of \(width)")
    self.width = width
  }

  mutating func setSuspended(_ isSuspended: Bool) { self.isSuspended = isSuspended }

  /// Whether children must be claimed one by one, because of a limit or a suspension.
  var isLimited: Bool { width < Int.max || isSuspended }

  // MARK: - End

  enum Verdict {
    case success
    /// The first child that succeeded.
    case winner(Int)
    case cancelled
    /// In the order in which they happened; never empty.
    case failure([Failure])
  }

  /// All children are done.
  mutating func finish() -> Verdict {
    precondition(phase == .running || phase == .closing, "finish() in \(phase)")
    phase = .settled
    if wasCancelled { return .cancelled }
    if let winner { return .winner(winner) }
    if !failures.isEmpty { return .failure(failures) }
    return sawOutsideCancel ? .cancelled : .success
  }
}
