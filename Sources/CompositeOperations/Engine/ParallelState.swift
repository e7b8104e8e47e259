import Foundation

/// What a parallel composition knows about its children, except what its fast path is made of: the dispenser that
/// hands out children and counts those that are done, without a lock.
///
/// ```
/// idle ──begin──▶ running ──failure, cancel──▶ closing ──all done──▶ settled
///                    └────────────────all done─────────────────────────▲
/// ```
///
/// *Closing* means that no child starts any more.
struct ParallelState {
  enum Phase: Equatable, CaseIterable {
    case idle, running, closing, settled
  }

  enum Policy: Equatable, CaseIterable {
    case cancelRemaining, waitForAll
    /// The first success ends it; failures do not matter as long as one may still succeed.
    case firstSuccess
    /// How the children end does not matter: neither a failure nor a cancellation becomes the composition's.
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
  /// Whether children are held back by a progress that is paused. Apart from `isSuspended`, which is the user's.
  private(set) var isHeld = false

  /// How many children were handed out, by the dispenser (known once that is closed) and by `claim`.
  private(set) var handedOut = 0
  /// Children that can start, of those that the dispenser does not hand out.
  private(set) var ready = ReadyQueue()
  /// The same, of compositions where there is a queue, for they need no slot of it: the starter starts them.
  private(set) var readyWithoutSlot = ReadyQueue()
  /// Whether a starter is about to start one.
  private(set) var hasStarter = false
  /// The place in line of the child that was last added to either.
  private var lastPlace = 0
  /// Children that were handed out, and wait for their dependencies.
  private(set) var parked: Set<Int> = []
  /// Where children may have been started by somebody else: those that were not.
  private(set) var owned: Set<Int> = []
  /// Where children may have been started by somebody else: those that were, and have not finished.
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

  /// The owner has started; or has been cancelled before, so that no child will.
  mutating func begin(cancelled: Bool) {
    precondition(phase == .idle, "begin() in \(phase)")
    wasCancelled = wasCancelled || cancelled
    phase = wasCancelled ? .closing : .running
  }

  /// A child cannot be used. The caller abandons all.
  mutating func refuse(_ tag: Int, _ error: any Error) {
    precondition(phase == .running || phase == .closing, "refuse() in \(phase)")
    failures.append(Failure(tag: tag, error: error))
    phase = .closing
  }

  // MARK: - Handing out

  enum Claim: Equatable {
    /// Start this child; `more` if another one could start at the same time.
    case child(Int, more: Bool)
    case nothing
  }

  /// - Parameter done: how many children are done.
  mutating func claim(done: Int) -> Claim {
    guard mayStart(ready, beside: readyWithoutSlot, done: done), let tag = ready.popFirst() else { return .nothing }
    handedOut += 1
    return .child(tag, more: mayStart(ready, beside: readyWithoutSlot, done: done))
  }

  /// Whether the limit and suspension allow that the first of these starts. Others that come before it may, too, as soon as
  /// they are claimed, so that there has to be room for them.
  private func mayStart(_ children: ReadyQueue, beside others: ReadyQueue, done: Int) -> Bool {
    guard phase == .running, !isSuspended, !isHeld, !children.isEmpty else { return false }
    let inFlight = handedOut - parked.count - done
    guard inFlight < width, width < .max, !others.isEmpty else { return inFlight < width }
    return others.count(beforeFirstOf: children) < width - inFlight
  }

  /// Children that `claim` shall hand out, or the starter.
  mutating func add(ready tag: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) {
    lastPlace += 1
    if needsSlot {
      ready.append(tag, priority: priority, place: lastPlace)
    } else {
      readyWithoutSlot.append(tag, priority: priority, place: lastPlace)
    }
  }

  /// Whether somebody has to become the starter. If there is one, that will find what is to start.
  mutating func callStarter(done: Int) -> Bool {
    guard !hasStarter, mayStart(readyWithoutSlot, beside: ready, done: done) else { return false }
    hasStarter = true
    return true
  }

  /// What the starter starts, which it then no longer is; `more` if it has to call the next one.
  mutating func claimWithoutSlot(done: Int) -> (tag: Int, more: Bool)? {
    hasStarter = false
    guard mayStart(readyWithoutSlot, beside: ready, done: done), let tag = readyWithoutSlot.popFirst() else {
      return nil
    }
    handedOut += 1
    return (tag, callStarter(done: done))
  }

  /// The dispenser was closed, and has not handed these out, all of normal priority. `claim` does from now on.
  mutating func dispenserClosed(leaving rest: [Range<Int>]) {
    handedOut += count - rest.reduce(0) { $0 + $1.count }
    for tag in rest.joined() { add(ready: tag, priority: .normal) }
  }

  // MARK: - Dependencies

  /// A child that was handed out waits for its dependencies. False if none may start any more.
  mutating func park(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    parked.insert(tag)
    return true
  }

  /// Its dependencies have finished. False if that does not matter any more.
  mutating func unpark(_ tag: Int, priority: Operation.QueuePriority, needsSlot: Bool = true) -> Bool {
    guard parked.remove(tag) != nil, phase == .running else { return false }
    handedOut -= 1
    add(ready: tag, priority: priority, needsSlot: needsSlot)
    return true
  }

  // MARK: - Children that others started

  /// A child was found to be this composition's to start. False if none may start any more.
  mutating func own(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    owned.insert(tag)
    return true
  }

  /// A child is about to be abandoned, if it is this composition's; then it is waited for like those that run. Returns
  /// whether it is known to be.
  mutating func abandon(_ tag: Int) -> Bool { !owned.insert(tag).inserted }

  /// A child is in flight, started by somebody else. False if it need not be waited for any more.
  mutating func join(_ tag: Int) -> Bool {
    guard phase == .running else { return false }
    joined.insert(tag)
    return true
  }

  /// Such a child has finished. False if it has been counted.
  mutating func leave(_ tag: Int) -> Bool {
    joined.remove(tag) != nil
  }

  // MARK: - Endings of children

  /// What to do when no child may start any more.
  struct Close: Equatable {
    /// Children to settle without running them.
    var abandoned: Set<Int> = []
    /// More of them: those that the dispenser had not handed out, ascending.
    var notHandedOut: [Range<Int>] = []
    /// Children that are not waited for: others started them, or they cannot be used.
    var left: Set<Int> = []

    /// All others, ascending.
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

  mutating func setWidth(_ width: Int) {
    precondition(width > 0, "A width of \(width)")
    self.width = width
  }

  mutating func setSuspended(_ isSuspended: Bool) { self.isSuspended = isSuspended }

  mutating func setHeld(_ isHeld: Bool) { self.isHeld = isHeld }

  /// Whether children must be claimed one by one, because of a limit or a suspension.
  var isLimited: Bool { width < Int.max || isSuspended || isHeld }

  // MARK: - End

  enum Verdict {
    case success
    /// The child whose success ended it.
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
