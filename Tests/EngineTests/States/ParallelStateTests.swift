import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The answers of a parallel composition to each input in each phase.
@Suite("3.2 ParallelState")
struct ParallelStateTests {
  /// All inputs of the machine; children are those of ``situation(_:_:)``.
  enum Input: CaseIterable, Sendable {
    case begin, beginCancelled, refuse, claim, addReady, putOffByLimit, putOffBySuspension
    case park, unpark, own, join, leave, abandonOwned, abandonUnknown, fail, cancelChild, succeed, cancel, finish
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let phase: ParallelState.Phase
    let policy: ParallelState.Policy
    let input: Input
    /// The answer; nil if the input is a mistake that traps.
    let answer: String?
    let after: ParallelState.Phase

    var testDescription: String { "\(phase), \(policy): \(input)" }
  }

  /// A composition of six children. Running, 0 was started, 1 waits for its dependencies, other
  /// code started 2, 3 and 4 are ready, the cursor has not handed out 5. Closing, it was cancelled
  /// after that.
  static func situation(_ phase: ParallelState.Phase, _ policy: ParallelState.Policy) -> ParallelState {
    var state = ParallelState(count: 6, policy: policy)
    guard phase != .idle else { return state }
    state.begin(cancelled: false)
    for child in 0..<5 { state.add(ready: child, priority: .normal) }
    for _ in 0..<3 { _ = state.claim(done: 0) }
    _ = state.own(0)
    _ = state.own(1)
    _ = state.park(1)
    _ = state.join(2)
    if phase == .closing || phase == .settled { _ = state.cancel() }
    if phase == .settled { _ = state.finish() }
    return state
  }

  private static func text(_ close: ParallelState.Close?) -> String {
    guard let close else { return "go on" }
    return "abandon \(close.abandoned.sorted()) and \(close.notHandedOut), leave \(close.left.sorted())"
  }

  static func apply(_ input: Input, to state: inout ParallelState) -> String {
    switch input {
    case .begin:
      state.begin(cancelled: false)
      return "-"
    case .beginCancelled:
      state.begin(cancelled: true)
      return "-"
    case .refuse:
      state.refuse(5, TestError.first)
      return "-"
    case .claim: return "\(state.claim(done: 0))"
    case .addReady:
      state.add(ready: 5, priority: .veryHigh)
      return "\(state.ready.all)"
    case .putOffByLimit:
      state.setWidth(2)
      return "\(state.claim(done: 0)), \(state.isLimited ? "limited" : "unlimited")"
    case .putOffBySuspension:
      state.setSuspended(true)
      return "\(state.claim(done: 0)), \(state.isLimited ? "limited" : "unlimited")"
    case .park: return "\(state.park(0))"
    case .unpark: return "\(state.unpark(1, priority: .high)), \(state.unpark(1, priority: .high)), \(state.ready.all)"
    case .own: return "\(state.own(3))"
    case .join: return "\(state.join(3))"
    case .leave: return "\(state.leave(2)), \(state.leave(2))"
    case .abandonOwned: return "\(state.abandon(0))"
    case .abandonUnknown: return "\(state.abandon(3)), \(state.abandon(3))"
    case .fail: return text(state.childFailed(0, TestError.first))
    case .cancelChild: return text(state.childWasCancelled())
    case .succeed: return text(state.childSucceeded(0))
    case .cancel: return text(state.cancel())
    case .finish:
      switch state.finish() {
      case .success: return "success"
      case .winner(let child): return "winner \(child)"
      case .cancelled: return "cancelled"
      case .failure(let failures): return "failure \(failures.map(\.tag))"
      }
    }
  }

  private static let closes = "abandon [1, 3, 4] and [], leave [2]"

  /// The answers that do not depend on the policy.
  private static let answers: [ParallelState.Phase: [Input: (String?, ParallelState.Phase)]] = [
    .idle: [
      .begin: ("-", .running), .beginCancelled: ("-", .closing), .refuse: (nil, .idle), .claim: ("nothing", .idle),
      .addReady: ("[5]", .idle), .putOffByLimit: ("nothing, limited", .idle),
      .putOffBySuspension: ("nothing, limited", .idle), .park: ("false", .idle), .unpark: ("false, false, []", .idle),
      .own: ("false", .idle), .join: ("false", .idle), .leave: ("false, false", .idle),
      .abandonOwned: ("false", .idle), .abandonUnknown: ("false, true", .idle), .fail: ("go on", .idle),
      .cancelChild: ("go on", .idle), .succeed: ("go on", .idle), .cancel: ("go on", .idle), .finish: (nil, .idle),
    ],
    .running: [
      .begin: (nil, .running), .beginCancelled: (nil, .running), .refuse: ("-", .closing),
      .claim: ("child(3, more: true)", .running), .addReady: ("[5, 3, 4]", .running),
      .putOffByLimit: ("nothing, limited", .running), .putOffBySuspension: ("nothing, limited", .running),
      .park: ("true", .running), .unpark: ("true, false, [1, 3, 4]", .running), .own: ("true", .running),
      .join: ("true", .running), .leave: ("true, false", .running), .abandonOwned: ("true", .running),
      .abandonUnknown: ("false, true", .running), .cancel: (closes, .closing), .finish: ("success", .settled),
    ],
    .closing: [
      .begin: (nil, .closing), .beginCancelled: (nil, .closing), .refuse: ("-", .closing),
      .claim: ("nothing", .closing),
      .addReady: ("[5]", .closing), .putOffByLimit: ("nothing, limited", .closing),
      .putOffBySuspension: ("nothing, limited", .closing), .park: ("false", .closing),
      .unpark: ("false, false, []", .closing), .own: ("false", .closing), .join: ("false", .closing),
      .leave: ("false, false", .closing), .abandonOwned: ("true", .closing), .abandonUnknown: ("false, true", .closing),
      .fail: ("go on", .closing), .cancelChild: ("go on", .closing), .succeed: ("go on", .closing),
      .cancel: ("go on", .closing), .finish: ("cancelled", .settled),
    ],
    .settled: [
      .begin: (nil, .settled), .beginCancelled: (nil, .settled), .refuse: (nil, .settled),
      .claim: ("nothing", .settled),
      .addReady: ("[5]", .settled), .putOffByLimit: ("nothing, limited", .settled),
      .putOffBySuspension: ("nothing, limited", .settled), .park: ("false", .settled),
      .unpark: ("false, false, []", .settled), .own: ("false", .settled), .join: ("false", .settled),
      .leave: ("false, false", .settled), .abandonOwned: ("true", .settled), .abandonUnknown: ("false, true", .settled),
      .fail: ("go on", .settled), .cancelChild: ("go on", .settled), .succeed: ("go on", .settled),
      .cancel: ("go on", .settled), .finish: (nil, .settled),
    ],
  ]

  /// Those that do, all of a running composition.
  private static let answersByPolicy: [ParallelState.Policy: [Input: (String?, ParallelState.Phase)]] = [
    .cancelRemaining: [.fail: (closes, .closing), .cancelChild: (closes, .closing), .succeed: ("go on", .running)],
    .waitForAll: [.fail: ("go on", .running), .cancelChild: ("go on", .running), .succeed: ("go on", .running)],
    .firstSuccess: [.fail: ("go on", .running), .cancelChild: ("go on", .running), .succeed: (closes, .closing)],
    .settleAll: [.fail: ("go on", .running), .cancelChild: ("go on", .running), .succeed: ("go on", .running)],
  ]

  static let table: [Row] = ParallelState.Phase.allCases.flatMap { phase in
    ParallelState.Policy.allCases.flatMap { policy in
      Input.allCases.map { input in
        let (answer, after) = answers[phase]?[input] ?? answersByPolicy[policy]![input]!
        return Row(phase: phase, policy: policy, input: input, answer: answer, after: after)
      }
    }
  }

  @Test("Every input in every phase under every policy", arguments: table.filter { $0.answer != nil })
  func input_inPhase_givesAnswerAndPhase(_ row: Row) {
    var state = ParallelStateTests.situation(row.phase, row.policy)
    #expect(state.phase == row.phase)
    #expect(ParallelStateTests.apply(row.input, to: &state) == row.answer)
    #expect(state.phase == row.after)
  }

  @Test("3.2 The verdict: a cancelled owner beats a winner, that beats failures, these beat an outside cancel")
  func finish_afterSeveralEndings_decidesByRank() {
    func verdict(_ policy: ParallelState.Policy, _ inputs: Input...) -> String {
      var state = ParallelStateTests.situation(.running, policy)
      for input in inputs { _ = ParallelStateTests.apply(input, to: &state) }
      return ParallelStateTests.apply(.finish, to: &state)
    }
    for policy in ParallelState.Policy.allCases {
      #expect(verdict(policy) == "success")
      #expect(verdict(policy, .cancel, .fail, .succeed) == "cancelled")
      #expect(verdict(policy, .refuse) == "failure [5]")
      #expect(verdict(policy, .refuse, .cancel) == "cancelled")
      // The outcomes of children are the value of a composition that settles all, not its verdict.
      let settlesAll = policy == .settleAll
      #expect(verdict(policy, .cancelChild) == (settlesAll ? "success" : "cancelled"))
      #expect(verdict(policy, .fail) == (settlesAll ? "success" : "failure [0]"))
      #expect(verdict(policy, .fail, .fail) == (settlesAll ? "success" : "failure [0, 0]"))
    }
    #expect(verdict(.waitForAll, .cancelChild, .fail) == "failure [0]")
    #expect(verdict(.waitForAll, .fail, .cancelChild) == "failure [0]")
    #expect(verdict(.firstSuccess, .fail, .cancelChild, .succeed) == "winner 0")
    #expect(verdict(.firstSuccess, .succeed, .fail, .cancelChild) == "winner 0")
    #expect(verdict(.firstSuccess, .succeed, .cancel) == "cancelled")
    // The composition itself cancels children while it closes.
    #expect(verdict(.cancelRemaining, .fail, .cancelChild) == "failure [0]")
  }

  @Test("3.1.4 A cancel before the beginning holds: nothing starts")
  func cancel_beforeBegin_isRemembered() {
    var state = ParallelState(count: 1, policy: .cancelRemaining)
    #expect(state.cancel() == nil)
    state.begin(cancelled: false)
    #expect(state.phase == .closing && state.wasCancelled)
    state.add(ready: 0, priority: .normal)
    #expect(state.claim(done: 0) == .nothing)
  }

  @Test("3.2 Limits count the children that were handed out and are neither done nor waiting for dependencies")
  func claim_limited_countsInFlight() {
    var state = ParallelState(count: 6, policy: .waitForAll)
    state.setWidth(2)
    state.begin(cancelled: false)
    for child in 0..<6 { state.add(ready: child, priority: child == 4 ? .high : .normal) }
    #expect(state.claim(done: 0) == .child(4, more: true))
    #expect(state.claim(done: 0) == .child(0, more: false))
    #expect(state.claim(done: 0) == .nothing)
    #expect(state.claim(done: 1) == .child(1, more: false))
    // A waiting child leaves its place to another, and takes one again afterwards.
    let parks = state.park(1)
    #expect(parks)
    #expect(state.claim(done: 1) == .child(2, more: false))
    let unparks = state.unpark(1, priority: .veryHigh)
    #expect(unparks)
    #expect(state.claim(done: 1) == .nothing)
    #expect(state.claim(done: 3) == .child(1, more: true))
    state.setWidth(1)
    #expect(state.claim(done: 3) == .nothing)
    #expect(state.claim(done: 4) == .child(3, more: false))
  }

  @Test("Children that the dispenser handed out before a limit was set count for it")
  func dispenserClosed_midway_countsHandedOut() {
    var state = ParallelState(count: 5, policy: .waitForAll)
    state.begin(cancelled: false)
    state.setWidth(3)
    state.dispenserClosed(leaving: [1..<2, 3..<5])
    #expect(state.handedOut == 2)
    #expect(state.claim(done: 0) == .child(1, more: false))
    #expect(state.claim(done: 0) == .nothing)
    #expect(state.claim(done: 2) == .child(3, more: true))
  }

  @Test("The handed-out children lie before, between and after the others")
  func close_withRest_knowsWhatWasHandedOut() {
    var close = ParallelState.Close()
    #expect(Array(close.handedOut(of: 3)) == [0, 1, 2])
    close.notHandedOut = [1..<2, 3..<5]
    #expect(Array(close.handedOut(of: 7)) == [0, 2, 5, 6])
    close.notHandedOut = [0..<3]
    #expect(Array(close.handedOut(of: 3)).isEmpty)
  }
}
