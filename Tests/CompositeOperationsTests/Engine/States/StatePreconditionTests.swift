import Testing

@testable import CompositeOperations

/// Inputs that only a mistake in the engine can cause: each machine traps at once.
@Suite("3.1 to 3.4 State machines trap on the impossible", .timeLimit(.minutes(2)))
struct StatePreconditionTests {
  #if DEBUG
  // Assertions: in release builds the word is not checked.
  static let operationInputs = OperationState.Input.allCases.flatMap { input in
    OperationState.Phase.allCases.filter { input.phase != nil && input.phase != $0 }.map { (input, $0) }
  }

  @Test("OperationState: a step of the winner in a wrong phase", arguments: operationInputs.indices)
  func operationState_wrongPhase_traps(_ index: Int) async {
    await #expect(processExitsWith: .failure) { [index] in
      let (input, phase) = StatePreconditionTests.operationInputs[index]
      var state = OperationState(rawValue: phase.rawValue)
      _ = state.apply(input)
    }
  }
  #endif

  static let parallelRows = ParallelStateTests.table.filter { $0.answer == nil && $0.policy == .cancelRemaining }

  @Test("ParallelState: to begin twice, to refuse or finish out of turn", arguments: parallelRows.indices)
  func parallelState_wrongPhase_traps(_ index: Int) async {
    await #expect(processExitsWith: .failure) { [index] in
      let row = StatePreconditionTests.parallelRows[index]
      var state = ParallelStateTests.situation(row.phase, row.policy)
      _ = ParallelStateTests.apply(row.input, to: &state)
    }
  }

  static let sequentialRows = SequentialStateTests.table.filter { row in
    // One situation for each phase is enough: the answer is the same in all of them.
    row.answer == nil && [.idle, .ready, .asking, .ours, .waiting, .launchable, .ended].contains(row.situation)
  }

  @Test("SequentialState: to begin, launch, end, unwind or leave out of turn", arguments: sequentialRows.indices)
  func sequentialState_wrongPhase_traps(_ index: Int) async {
    await #expect(processExitsWith: .failure) { [index] in
      let row = StatePreconditionTests.sequentialRows[index]
      var state = SequentialStateTests.situation(row.situation)
      _ = SequentialStateTests.apply(row.input, to: &state)
    }
  }

  @Test("LaneState: a helper that was not the standby, or ends unstarted; a base lane that does not work")
  func laneState_impossibleLane_traps() async {
    await #expect(processExitsWith: .failure) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      lanes.helperStarted()
    }
    await #expect(processExitsWith: .failure) {
      var lanes = LaneState<LaneSource>(holdsSlot: false)
      _ = lanes.demand()
      _ = lanes.helperEnds()
    }
    await #expect(processExitsWith: .failure) {
      var lanes = LaneState<LaneSource>(holdsSlot: true)
      _ = lanes.baseContinues()
    }
    await #expect(processExitsWith: .failure) {
      var lanes = LaneState<LaneSource>(holdsSlot: false)
      _ = lanes.baseContinues()
    }
  }

  @Test("A width of 0 or less")
  func width_notPositive_traps() async {
    await #expect(processExitsWith: .failure) {
      var state = ParallelState(count: 1, policy: .waitForAll)
      state.setWidth(0)
    }
    await #expect(processExitsWith: .failure) {
      var state = ReadyState()
      _ = state.setWidth(-1)
    }
  }
}
