#if os(macOS) || os(Linux)
import Foundation
import Testing

@testable import CompositeOperations

/// Inputs that only a mistake in the engine can cause: each machine traps at once.
@Suite("3.1 to 3.4 State machines trap on the impossible", .hangLimit)
struct StatePreconditionTests {
  #if DEBUG
  // Assertions, which release builds do not check.
  static let operationInputs = OperationState.Input.allCases.flatMap { input in
    OperationState.Phase.allCases.filter { input.phase != nil && input.phase != $0 }.map { (input, $0) }
  }

  @Test("OperationState: a step of the winner in a wrong phase", arguments: operationInputs.indices)
  func operationState_wrongPhase_traps(_ index: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [index] in
      let (input, phase) = StatePreconditionTests.operationInputs[index]
      var state = OperationState(rawValue: phase.rawValue)
      _ = state.apply(input)
    }
    try expect(result, says: "in \(StatePreconditionTests.operationInputs[index].1)")
  }
  #endif

  @Test("ChildTable: to begin twice, to make a step out of turn")
  func childTable_outOfTurn_traps() async throws {
    let begun = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var table = ChildTable(.list(1, .waitForAll))
      _ = table.begin(cancelled: false)
      _ = table.begin(cancelled: true)
    }
    try expect(begun, says: "began twice")
    let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var table = ChildTable(.steps())
      _ = table.begin(cancelled: false)
      _ = table.stepMade(Operation(), .ours)
    }
    try expect(made, says: "made in listed")
  }

  @Test("LaneState: a helper that was not the standby, or ends unstarted; a base lane that does not work")
  func laneState_impossibleLane_traps() async throws {
    let started = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      lanes.helperStarted()
    }
    try expect(started, says: "not the standby")
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: false)
      _ = lanes.demand()
      _ = lanes.helperEnds()
    }
    try expect(ended, says: "had not started")
    let idle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      _ = lanes.baseContinues()
    }
    try expect(idle, says: "in idle")
    let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: false)
      _ = lanes.baseContinues()
    }
    try expect(missing, says: "in none")
    let own = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      _ = lanes.slotReturned()
    }
    try expect(own, says: "in idle")
    let wait = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      lanes.waitEnds()
    }
    try expect(wait, says: "had not begun")
    let loan = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var lanes = LaneState<LaneSource>(holdsSlot: false)
      _ = lanes.loanEnds()
    }
    try expect(loan, says: "had not begun")
    let loans = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var loans = SlotLoans<LaneSource>()
      loans.ended()
    }
    try expect(loans, says: "had not begun")
  }

  @Test("A width of 0 or less")
  func width_notPositive_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var table = ChildTable(.tags)
      table.setWidth(-1)
    }
    try expect(result, says: "width of -1")
  }

  /// Checks that the machine trapped, and not other code before.
  private func expect(_ result: ExitTest.Result?, says words: String) throws {
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains(words), "\(text.prefix(400))")
  }
}
#endif
