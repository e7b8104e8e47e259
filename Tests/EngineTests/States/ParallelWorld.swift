import Foundation
import TestSupport

@testable import CompositeOperations

/// The environment of the state of a parallel composition: its children, and the actions of
/// `ParallelSource`. Each step here is atomic under the lock.
struct ParallelWorld {
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
    func isClosing(_ policy: ParallelState.Policy) -> Bool {
      isCancelled || isRefused || winner != nil
        || policy == .cancelRemaining && (!failures.isEmpty || sawOutsideCancel)
    }

    var expectedVerdict: String {
      if isCancelled { return "cancelled" }
      if let winner { return "winner \(winner)" }
      if !failures.isEmpty { return "failure \(failures)" }
      return sawOutsideCancel ? "cancelled" : "success"
    }
  }

  private(set) var state: ParallelState
  private(set) var stages: [Stage]
  private(set) var history = History()
  private(set) var isCursorOpen = false
  /// What was noticed to be wrong on the way.
  private(set) var complaint: String?
  let joins: Bool

  init(count: Int, policy: ParallelState.Policy, joins: Bool) {
    state = ParallelState(count: count, policy: policy)
    stages = Array(repeating: .dispensable, count: count)
    self.joins = joins
  }

  /// The children that count for the limit.
  var inFlight: Int { stages.count { $0 == .claimed || $0 == .running || $0 == .joined || $0 == .abandoned } }

  private var done: Int { stages.count { $0 == .done } }

  var steps: [Step] {
    var steps: [Step] = history.isCancelled ? [] : [.cancel]
    if state.phase == .settled { return steps }
    steps += state.isSuspended ? [.setSuspended(false)] : [.setSuspended(true)]
    steps += [1, 2, .max].filter { $0 != state.width }.map { .setWidth($0) }
    if state.phase == .idle {
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
    case .start(let child): stages[child] = !joins || state.own(child) ? .running : .abandoned
    case .join(let child):
      stages[child] = .joined
      if !state.join(child) { childDone(child) }
    case .park(let child):
      if joins, !state.own(child) { return stages[child] = .abandoned }
      stages[child] = state.park(child) ? .parked : .abandoned
    case .meet(let child):
      if state.unpark(child, priority: .normal) { stages[child] = .ready } else { complain("\(child) is not parked") }
    case .end(let child, let ending): childEnded(child, ending)
    case .cancel:
      history.isCancelled = history.isCancelled || state.phase != .settled
      if let close = state.cancel() { carryOut(close) }
    case .setWidth(let width): change { $0.setWidth(width) }
    case .setSuspended(let isSuspended): change { $0.setSuspended(isSuspended) }
    }
  }

  private mutating func begin(cancelled: Bool, refusing refused: Int?) {
    history.isCancelled = history.isCancelled || cancelled
    state.begin(cancelled: cancelled)
    if let refused, !state.wasCancelled {
      history.isRefused = true
      history.failures = [refused]
      state.refuse(refused, TestError.first)
    }
    guard !stages.isEmpty else { return finish() }
    if state.phase == .running {
      isCursorOpen = !state.isLimited
      if state.isLimited { makeReady() }
    } else {
      carryOut(
        ParallelState.Close(notHandedOut: [stages.indices], left: Set(refused.map { [$0] } ?? [])), isFirst: true)
    }
  }

  private mutating func makeReady() {
    for (child, stage) in stages.enumerated() where stage == .dispensable {
      state.add(ready: child, priority: .normal)
      stages[child] = .ready
    }
  }

  private mutating func claim() {
    let inFlight = inFlight
    guard case .child(let child, let more) = state.claim(done: done) else {
      let mayStart = state.phase == .running && !state.isSuspended && inFlight < state.width
      if mayStart, stages.contains(.ready) { complain("a child that may start is not claimed") }
      return
    }
    if stages[child] != .ready { complain("\(child) is claimed while \(stages[child])") }
    if inFlight >= state.width || state.isSuspended { complain("\(child) is claimed over the limit") }
    stages[child] = .claimed
    var next = state
    if (next.claim(done: done) != .nothing) != more { complain("there is \(more ? "nothing" : "something") more") }
  }

  private mutating func childEnded(_ child: Int, _ ending: Ending) {
    // A composition that no longer waits for it is not notified.
    if stages[child] == .joined, !state.leave(child) { return complain("\(child) was left behind") }
    stages[child] = .ended
    let wasClosing = history.isClosing(state.policy)
    let close: ParallelState.Close?
    switch ending {
    case .success:
      if state.policy == .firstSuccess, !wasClosing { history.winner = child }
      close = state.childSucceeded(child)
    case .failure:
      // A composition that settles all ignores it.
      if state.policy != .settleAll { history.failures.append(child) }
      close = state.childFailed(child, TestError("\(child)"))
    case .cancelled:
      if !wasClosing, state.policy != .settleAll { history.sawOutsideCancel = true }
      close = state.childWasCancelled()
    }
    if (close != nil) != (!wasClosing && history.isClosing(state.policy)) { complain("it closes at the wrong moment") }
    if let close { carryOut(close) }
    childDone(child)
  }

  private mutating func childDone(_ child: Int) {
    if stages[child] == .done { complain("\(child) is counted twice") }
    stages[child] = .done
    if done == stages.count { finish() }
  }

  private mutating func finish() {
    switch state.finish() {
    case .success: history.verdict = "success"
    case .winner(let child): history.verdict = "winner \(child)"
    case .cancelled: history.verdict = "cancelled"
    case .failure(let failures): history.verdict = "failure \(failures.map(\.tag))"
    }
    if history.verdict != history.expectedVerdict { complain("the verdict is \(history.verdict ?? "none")") }
  }

  private mutating func carryOut(_ close: ParallelState.Close, isFirst: Bool = false) {
    var close = close
    if isCursorOpen { close.notHandedOut = dispensable }
    isCursorOpen = false
    let waiting = Set(stages.indices.filter { stages[$0] == .ready || stages[$0] == .parked })
    let joined = Set(stages.indices.filter { stages[$0] == .joined })
    if close.abandoned != waiting { complain("\(close.abandoned) are abandoned, \(waiting) wait") }
    if !isFirst, close.left != joined { complain("\(close.left) are left, \(joined) are joined") }
    for child in close.abandoned.union(close.notHandedOut.joined()).subtracting(close.left) {
      stages[child] = .abandoned
    }
    for child in close.left { childDone(child) }
  }

  private var dispensable: [Range<Int>] {
    stages.firstIndex(of: .dispensable).map { [$0..<stages.count] } ?? []
  }

  private mutating func change(_ change: (inout ParallelState) -> Void) {
    change(&state)
    guard state.phase == .running, state.isLimited, isCursorOpen else { return }
    isCursorOpen = false
    state.dispenserClosed(leaving: dispensable)
    for range in dispensable { stages[range] = ArraySlice(repeating: .ready, count: range.count) }
  }

  private mutating func complain(_ text: String) {
    complaint = complaint ?? text
  }
}
