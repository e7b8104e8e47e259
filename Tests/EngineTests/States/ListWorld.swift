import Foundation
import TestSupport

@testable import CompositeOperations

/// The environment of a table with a list: its children, and the actions of the composition. Each
/// step here is atomic under the lock.
struct ListWorld {
  /// Where a child is.
  enum Stage: Int {
    /// The cursor hands it out, or would have.
    case dispensable
    /// `claim` hands it out.
    case ready
    /// A worker has claimed it.
    case claimed
    case parked, running
    /// Other code runs it.
    case joined
    /// It is being settled without being run.
    case abandoned
    /// It has finished; the composition was notified, and has not counted it yet.
    case ended
    case done
  }

  enum Ending: CaseIterable {
    case success, failure, cancelled
  }

  enum Step: Hashable {
    case begin(cancelled: Bool)
    /// A child cannot be used.
    case beginRefusing(Int)
    case take, claim
    case start(Int), park(Int), meet(Int), join(Int)
    case end(Int, Ending)
    case cancel
    case setWidth(Int)
    case setSuspended(Bool)
  }

  /// The history, for the simple model of the outcome.
  struct History: Hashable {
    var isCancelled = false
    var isRefused = false
    var failures: [Int] = []
    var sawOutsideCancel = false
    var winner: Int?
    var verdict: String?

    /// Whether no further child may start.
    func isClosing(_ policy: ListEndings.Policy) -> Bool {
      isCancelled || isRefused || winner != nil || policy == .hedge && sawOutsideCancel
        || policy == .cancelRemaining && (!failures.isEmpty || sawOutsideCancel)
    }

    func expectedVerdict(_ policy: ListEndings.Policy) -> String {
      if isCancelled { return "cancelled" }
      if let winner { return "winner \(winner)" }
      if policy == .hedge, sawOutsideCancel { return "cancelled" }
      if !failures.isEmpty { return "failure \(failures)" }
      return sawOutsideCancel ? "cancelled" : "success"
    }
  }

  private(set) var state: ChildTable
  private(set) var stages: [Stage]
  private(set) var history = History()
  private(set) var isCursorOpen = false
  /// What was noticed to be wrong on the way.
  private(set) var complaint: String?
  let joins: Bool

  init(count: Int, policy: ListEndings.Policy, joins: Bool) {
    state = ChildTable(.list(count, policy))
    stages = Array(repeating: .dispensable, count: count)
    self.joins = joins
  }

  /// The children that count for the limit.
  var inFlight: Int { stages.count { $0 == .claimed || $0 == .running || $0 == .joined || $0 == .abandoned } }

  var isIdle: Bool { state.blocks.contains(.idle) }
  var isSuspended: Bool { state.blocks.contains(.suspended) }
  private var isRunning: Bool { !isIdle && !state.isClosed && !state.endings.isSettled }

  private var done: Int { stages.count { $0 == .done } }

  var steps: [Step] {
    var steps: [Step] = history.isCancelled ? [] : [.cancel]
    if state.endings.isSettled { return steps }
    steps += isSuspended ? [.setSuspended(false)] : [.setSuspended(true)]
    steps += [1, 2, .max].filter { $0 != state.width }.map { .setWidth($0) }
    if isIdle {
      steps += [.begin(cancelled: false), .begin(cancelled: true)]
      return steps + (joins ? [] : stages.indices.map { .beginRefusing($0) })
    }
    if isCursorOpen, stages.contains(.dispensable) { steps.append(.take) }
    steps.append(.claim)
    for (child, stage) in stages.enumerated() {
      switch stage {
      case .claimed: steps += [.start(child), .park(child)] + (joins ? [.join(child)] : [])
      case .parked: steps.append(.meet(child))
      case .running, .joined: steps += Ending.allCases.map { .end(child, $0) }
      case .abandoned: steps.append(.end(child, .cancelled))
      case .dispensable, .ready, .ended, .done: break
      }
    }
    return steps
  }

  mutating func take(_ step: Step) {
    switch step {
    case .begin(let cancelled): begin(cancelled: cancelled, refusing: nil)
    case .beginRefusing(let child): begin(cancelled: false, refusing: child)
    case .take:
      if let child = stages.firstIndex(of: .dispensable) { stages[child] = .claimed }
    case .claim: claim()
    case .start(let child): stages[child] = !joins || state.mark(child, .ours) ? .running : .abandoned
    case .join(let child):
      stages[child] = .joined
      if !state.mark(child, .joined) { childDone(child) }
    case .park(let child):
      if joins, !state.mark(child, .ours) { return stages[child] = .abandoned }
      stages[child] = state.mark(child, .waiting) ? .parked : .abandoned
    case .meet(let child):
      if state.unpark(child, priority: .normal) { stages[child] = .ready } else { complain("\(child) is not parked") }
    case .end(let child, let ending): childEnded(child, ending)
    case .cancel:
      if state.endings.isSettled { return }
      history.isCancelled = true
      state.endings.wasCancelled = true
      if let before = close() { carryOut(before) }
    case .setWidth(let width): change { $0.setWidth(width) }
    case .setSuspended(let isSuspended): change { $0.setSuspended(isSuspended) }
    }
  }

  private mutating func begin(cancelled: Bool, refusing refused: Int?) {
    history.isCancelled = history.isCancelled || cancelled
    let isOpen = state.begin(cancelled: cancelled)
    var before: [ChildTable.Phase]?
    if !isOpen || refused != nil {
      let refusals = refused.map { [$0: OperationError(.alreadyInUse, operation: Operation())] } ?? [:]
      before = state.refuse(refusals)
      if isOpen { (history.isRefused, history.failures) = (true, [refused!]) }
    }
    guard !stages.isEmpty else { return finish() }
    if let before {
      carryOut(before, isFirst: true)
    } else {
      isCursorOpen = !state.isLimited
      if state.isLimited { makeReady([0..<stages.count]) }
    }
  }

  private mutating func makeReady(_ left: [Range<Int>]) {
    state.list(left)
    for child in left.joined() { stages[child] = .ready }
  }

  private mutating func claim() {
    let inFlight = inFlight
    guard let claim = state.claim(done: done) else {
      let mayStart = isRunning && !isSuspended && inFlight < state.width
      if mayStart, stages.contains(.ready) { complain("a child that may start is not claimed") }
      return
    }
    let (child, more) = (claim.handle, claim.more)
    if stages[child] != .ready { complain("\(child) is claimed while \(stages[child])") }
    if inFlight >= state.width || isSuspended { complain("\(child) is claimed over the limit") }
    stages[child] = .claimed
    var next = state
    if (next.claim(done: done) != nil) != more { complain("there is \(more ? "nothing" : "something") more") }
  }

  private mutating func childEnded(_ child: Int, _ ending: Ending) {
    // A composition that no longer waits for it is not notified.
    if stages[child] == .joined, !state.leave(child) { return complain("\(child) was left behind") }
    stages[child] = .ended
    let policy = state.endings.policy
    let wasClosing = history.isClosing(policy)
    let outcome: Outcome<any Sendable>
    switch ending {
    case .success:
      if policy == .firstSuccess || policy == .hedge, !wasClosing { history.winner = child }
      outcome = .success(())
    case .failure:
      // A composition that settles all ignores it.
      if policy != .settleAll { history.failures.append(child) }
      outcome = .failure(TestError("\(child)"))
    case .cancelled:
      if !wasClosing, policy != .settleAll { history.sawOutsideCancel = true }
      outcome = .cancelled
    }
    let before = state.endings.record(outcome, of: child, isOpen: !state.isClosed) ? close() : nil
    if (before != nil) != (!wasClosing && history.isClosing(policy)) { complain("it closes at the wrong moment") }
    if let before { carryOut(before) }
    childDone(child)
  }

  private mutating func childDone(_ child: Int) {
    if stages[child] == .done { complain("\(child) is counted twice") }
    stages[child] = .done
    if done == stages.count { finish() }
  }

  private mutating func finish() {
    switch state.endings.verdict() {
    case .success: history.verdict = "success"
    case .winner(let child): history.verdict = "winner \(child)"
    case .cancelled: history.verdict = "cancelled"
    case .failures(let failures): history.verdict = "failure \(failures.map(\.index))"
    case .failure(let error): history.verdict = "failure \(error)"
    }
    if history.verdict != history.expectedVerdict(state.endings.policy) {
      complain("the verdict is \(history.verdict ?? "none")")
    }
  }

  private mutating func close() -> [ChildTable.Phase]? {
    guard !state.isClosed else { return nil }
    let left = isCursorOpen ? dispensable : []
    guard let before = state.closeList(left: left) else { return nil }
    isCursorOpen = false
    return before
  }

  private mutating func carryOut(_ before: [ChildTable.Phase], isFirst: Bool = false) {
    let abandoned = before.indices.filter { before[$0] == .listed || before[$0].isHeld }
    let waiting = stages.indices.filter {
      stages[$0] == .ready || stages[$0] == .parked || stages[$0] == .dispensable && before[$0] != .joined
    }
    let left = before.indices.filter { before[$0] == .joined }
    let joined = stages.indices.filter { stages[$0] == .joined }
    let running = stages.indices.filter { stages[$0] == .running }
    let started = before.indices.filter { before[$0] == .ours || before[$0] == .claimed && !joins }
    if abandoned != waiting { complain("\(abandoned) are abandoned, \(waiting) wait") }
    if !isFirst, left != joined { complain("\(left) are left, \(joined) are joined") }
    if !Set(running).isSubset(of: started) { complain("\(started) are cancelled, \(running) run") }
    for child in abandoned { stages[child] = .abandoned }
    for child in left { childDone(child) }
  }

  private var dispensable: [Range<Int>] {
    stages.firstIndex(of: .dispensable).map { [$0..<stages.count] } ?? []
  }

  private mutating func change(_ change: (inout ChildTable) -> Void) {
    change(&state)
    guard isRunning, state.isLimited, isCursorOpen else { return }
    isCursorOpen = false
    makeReady(dispensable)
  }

  private mutating func complain(_ text: String) {
    complaint = complaint ?? text
  }
}
