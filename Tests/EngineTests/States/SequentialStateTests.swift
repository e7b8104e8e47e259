import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The answers of a sequential composition to each input in each phase.
@Suite("3.3 SequentialState")
struct SequentialStateTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let situation: Situation
    let input: Input
    /// The answer; nil if the input is a mistake that traps.
    let answer: String?
    let after: SequentialState.Phase

    var testDescription: String { "\(situation): \(input)" }
  }

  /// The default answers.
  private static let usual: [Input: String?] = [
    .begin: nil, .beginCancelled: nil, .claim: "nothing", .claimSuspended: "nothing", .launch: nil, .launchUnknown: nil,
    .end: nil, .own: "false", .join: "false", .wait: "false", .unwait: "false, false", .unwaitOther: "false",
    .tell: "false", .tellOther: "false", .succeed: "ignore", .fail: "ignore", .succeedClaiming: "ignore",
    .settleOther: "ignore, ignore", .cancel: "nothing, nothing", .unwind: nil, .leave: nil, .cancelWaiting: "nil",
  ]

  /// A child that runs and was not cancelled.
  private static func running(_ cancel: String, _ after: SequentialState.Phase) -> [Input: (
    String, SequentialState.Phase
  )] {
    [
      .own: ("true", .running), .join: ("true", .running), .wait: ("true", .waiting), .tell: ("true", .running),
      .succeed: ("proceed, nothing", .ready), .fail: ("proceed, nothing", .ready),
      .succeedClaiming: ("proceed, ask 3 3", .asking), .cancel: (cancel, after),
    ]
  }

  private static func answers(_ situation: Situation) -> [Input: (String, SequentialState.Phase)] {
    switch situation {
    case .idle: [.begin: ("-", .ready), .beginCancelled: ("-", .running)]
    case .ready:
      [
        .claim: ("ask 2 2", .asking), .cancel: ("unwind, nothing", .running),
        .cancelWaiting: ("nil, and the next", .ready),
      ]
    case .asking:
      [
        .launch: ("launch(thenCancel: false)", .running), .launchUnknown: ("launch(thenCancel: false)", .running),
        .end: ("-", .ended),
      ]
    case .askingCancelled: [.launch: ("abandon", .running), .launchUnknown: ("abandon", .running), .end: ("-", .ended)]
    // The child waits for its turn.
    case .askingSuspended:
      [
        .launch: ("hold(thenCancel: false)", .launchable), .launchUnknown: ("hold(thenCancel: false)", .launchable),
        .end: ("-", .ended),
      ]
    case .ours: running("cancel 3, nothing", .running)
    // The starting thread finds that it may not start, and abandons it.
    case .unknown: running("nothing, nothing", .running)
    case .theirs: running("leave 3 3, nothing", .ended)
    case .cancelled:
      [
        .tell: ("true", .running), .succeed: ("end", .ended), .fail: ("end", .ended), .succeedClaiming: ("end", .ended),
        .unwind: ("4", .running), .leave: ("-", .ended),
      ]
    case .waiting:
      [
        .unwait: ("true, false", .launchable), .cancel: ("abandon 3 3, nothing", .running),
        .cancelWaiting: ("3", .waiting),
      ]
    case .launchable:
      [
        .claim: ("launch 3 3", .running), .cancel: ("abandon 3 3, nothing", .running),
        .cancelWaiting: ("3", .launchable),
      ]
    case .ended: [:]
    }
  }

  static let table: [Row] = Situation.allCases.flatMap { situation in
    Input.allCases.map { input in
      let (answer, after) =
        answers(situation)[input] ?? (usual[input]!, SequentialStateTests.situation(situation).phase)
      return Row(situation: situation, input: input, answer: answer, after: after)
    }
  }

  @Test("Every input in every phase", arguments: table.filter { $0.answer != nil })
  func input_inPhase_givesAnswerAndPhase(_ row: Row) {
    var state = SequentialStateTests.situation(row.situation)
    #expect(SequentialStateTests.apply(row.input, to: &state) == row.answer)
    #expect(state.phase == row.after)
  }

  @Test("3.1.4 A cancel before the beginning holds: nothing is asked")
  func cancel_beforeBegin_isRemembered() {
    var state = SequentialState()
    _ = state.cancel()
    state.begin(cancelled: false)
    #expect(state.isCancelled)
    #expect(SequentialStateTests.text(state.claim()) == "nothing")
    state.leave()
    #expect(state.phase == .ended)
  }

  @Test("3.3 The delegate is asked with nil first, then with each child, with the number of children so far")
  func claim_afterEachChild_asksAboutIt() {
    var state = SequentialState()
    state.begin(cancelled: false)
    var asked: [String] = []
    for number in 1...4 {
      asked.append(SequentialStateTests.text(state.claim()))
      _ = state.begin(SequentialStateTests.child("\(number)"), ownership: .ours)
      #expect(state.count == number && state.current?.name == "\(number)")
      _ = state.settled(number, .success(number), claiming: false)
    }
    #expect(asked == ["ask nil 0", "ask 1 1", "ask 2 2", "ask 3 3"])
  }

  @Test("3.4 When all that wait are cancelled, the next child is, and only that one")
  func cancelWaiting_whileReady_cancelsTheNextOnly() {
    var state = SequentialStateTests.situation(.ready)
    #expect(state.cancelWaiting() == nil)
    _ = state.claim()
    #expect(state.begin(Operation(), ownership: .ours) == .launch(thenCancel: true))
    _ = state.settled(3, .cancelled, claiming: true)
    #expect(state.begin(Operation(), ownership: .ours) == .launch(thenCancel: false))
  }

  @Test("A cancel while monitors are notified of a settlement leaves the end to the notifying thread")
  func cancel_whileTelling_endsNothing() {
    for situation in [SequentialStateTests.Situation.ours, .theirs] {
      var state = SequentialStateTests.situation(situation)
      let answers = [SequentialStateTests.Input.tell, .cancel, .succeedClaiming].map {
        SequentialStateTests.apply($0, to: &state)
      }
      #expect(answers == ["true", "nothing, nothing", "end"])
    }
  }

  @Test("Suspended, neither is asked nor is a child that has waited started; resumed, both are")
  func isSuspended_holdsBack() {
    for situation in [SequentialStateTests.Situation.ready, .launchable] {
      var state = SequentialStateTests.situation(situation)
      state.setSuspended(true)
      #expect(SequentialStateTests.text(state.claim()) == "nothing")
      state.setSuspended(false)
      #expect(SequentialStateTests.text(state.claim()) != "nothing")
    }
    var state = SequentialStateTests.situation(.ours)
    state.setSuspended(true)
    _ = state.succeeded(3, (), claiming: true)
    #expect(state.phase == .ready)
  }
}
