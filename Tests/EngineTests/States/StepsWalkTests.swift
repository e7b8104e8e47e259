import Testing

@testable import CompositeOperations

/// The invariants of a sequence of up to three children for any order of events.
@Suite("3.3 ChildTable with steps, all paths")
struct StepsWalkTests {
  private struct Key: Hashable {
    let stage: StepsWorld.Stage
    let phase: ChildTable.Phase
    let numbers: [Int]
    let endings: [OperationState.Ending]
    let flags: [Bool]

    init(_ world: StepsWorld) {
      let state = world.state
      stage = world.stage
      phase = state.step.phase
      numbers = [state.stepCount, Int(state.blocks.rawValue), world.ends, world.asks, world.settled]
      endings = world.endings
      flags = [state.endings.wasCancelled, state.cancelledTags > 0, state.step.child == nil, world.wasCancelled]
    }
  }

  /// Which rule is broken, if one is.
  private static func broken(_ world: StepsWorld) -> String? {
    if let complaint = world.complaint { return complaint }
    let state = world.state
    if world.ends > 1 { return "it ends twice" }
    if (state.step.phase == .ended) != (world.ends == 1) {
      return "it is \(state.step.phase) and ended \(world.ends) times"
    }
    if state.endings.wasCancelled != world.wasCancelled { return "the cancel was lost" }
    if world.asks > world.settled + 1 { return "the delegate is asked while a child runs" }
    guard let records = state.records else { return "the records are gone" }
    let successes = world.endings.count { $0 == .success }
    let failures = world.endings.indices.filter { world.endings[$0] == .failure }
    if records.values.count != successes || records.failures.map(\.index) != failures
      || records.last != world.endings.last ?? .none || records.outcomes.count != world.endings.count
    {
      return "\(records) of \(world.endings)"
    }
    return nil
  }

  @Test(
    "3.3 One call at a time, none after a cancel, every child counted once, one end, on every path",
    arguments: [false, true])
  func anySteps_inAnyOrder_keepTheRules(joins: Bool) {
    let walk = StateWalk(
      from: StepsWorld(joins: joins, maxCount: 3), identifiedBy: Key.init, inputs: \.steps,
      step: { world, step in
        world.take(step)
        return StepsWalkTests.broken(world)
      })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > 1_000, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }

  @Test(
    "3.3 A cancel from any state leads to the end, whatever the delegate and the child do", arguments: [false, true])
  func cancel_fromAnyState_leadsToTheEnd(joins: Bool) {
    let walk = StateWalk(
      from: StepsWorld(joins: joins, maxCount: 2), identifiedBy: Key.init, inputs: \.steps,
      step: { world, step in
        world.take(step)
        var end = world
        var steps: [StepsWorld.Step] = [.cancel]
        for _ in 0..<6 where end.stage != .ended {
          end.take(steps.last!)
          // Only running steps continue.
          steps = end.steps.filter { step in
            switch step {
            case .cancel, .cancelWaiting, .setSuspended, .claim: false
            default: true
            }
          }
          if steps.isEmpty { break }
        }
        if let complaint = end.complaint { return complaint }
        return end.stage == .ended ? nil : "it stays \(end.stage)"
      })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > 200, "\(walk.stateCount) states")
  }
}
