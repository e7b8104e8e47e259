#if os(macOS) || os(Linux)
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

  static let parallelRows = ParallelStateTests.table.filter { $0.answer == nil && $0.policy == .cancelRemaining }

  @Test("ParallelState: to begin twice, to refuse or finish out of turn", arguments: parallelRows.indices)
  func parallelState_wrongPhase_traps(_ index: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [index] in
      let row = StatePreconditionTests.parallelRows[index]
      var state = ParallelStateTests.situation(row.phase, row.policy)
      _ = ParallelStateTests.apply(row.input, to: &state)
    }
    try expect(result, says: "in \(StatePreconditionTests.parallelRows[index].phase)")
  }

  static let sequentialRows = SequentialStateTests.table.filter { row in
    // One situation for each phase is enough: the answer is the same in all of them.
    row.answer == nil && [.idle, .ready, .asking, .ours, .waiting, .launchable, .ended].contains(row.situation)
  }

  @Test("SequentialState: to begin, launch, end, unwind or leave out of turn", arguments: sequentialRows.indices)
  func sequentialState_wrongPhase_traps(_ index: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [index] in
      let row = StatePreconditionTests.sequentialRows[index]
      var state = SequentialStateTests.situation(row.situation)
      _ = SequentialStateTests.apply(row.input, to: &state)
    }
    try expect(result, says: "in \(StatePreconditionTests.sequentialRows[index].after)")
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
    let parallel = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var state = ParallelState(count: 1, policy: .waitForAll)
      state.setWidth(0)
    }
    try expect(parallel, says: "width of 0")
    let ready = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var state = ChildTable()
      _ = state.setWidth(-1)
    }
    try expect(ready, says: "width of -1")
  }

  /// Checks that the machine trapped, and not other code before.
  private func expect(_ result: ExitTest.Result?, says words: String) throws {
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains(words), "\(text.prefix(400))")
  }
}
#endif
