import TestSupport
import Testing

@testable import CompositeOperations

/// The invariants of a parallel composition of up to two children, and three in full, for any order
/// of events.
@Suite("3.2 ChildTable with a list, all paths")
struct ListWalkTests {
  struct Situation: Sendable, CustomTestStringConvertible {
    let count: Int
    let policy: ListEndings.Policy
    let joins: Bool

    var testDescription: String { "\(count) children, \(policy), \(joins ? "joining" : "its own")" }

    static let all = (0...Scale.count(3, least: 2)).flatMap { count in
      ListEndings.Policy.allCases.flatMap { policy in
        [false, true].map { Situation(count: count, policy: policy, joins: $0) }
      }
    }
  }

  private struct Key: Hashable {
    let stages: [ListWorld.Stage]
    let history: ListWorld.History
    let phases: [ChildTable.Phase]
    let ready: [Int]
    let numbers: [Int]
    let flags: [Bool]

    init(_ world: ListWorld) {
      var state = world.state
      stages = world.stages
      history = world.history
      phases = stages.indices.map { state.phase(of: $0) }
      ready = state.waitingInList(left: 0..<0)
      numbers = [state.width, state.inFlight, Int(state.blocks.rawValue)] + state.endings.failures.map(\.index)
      flags = [state.endings.isSettled, state.endings.wasCancelled, state.endings.sawOutsideCancel, world.isCursorOpen]
    }
  }

  /// Which rule is broken, if one is.
  private static func broken(_ world: ListWorld) -> String? {
    if let complaint = world.complaint { return complaint }
    let state = world.state
    let isOver = world.stages.allSatisfy { $0 == .done } && !world.isIdle
    if state.endings.isSettled != isOver { return "it is settled or not with \(world.stages)" }
    if !world.isIdle, !state.endings.isSettled {
      let isClosing = world.history.isClosing(state.endings.policy)
      if state.isClosed != isClosing { return "it should \(isClosing ? "" : "not ")be closed" }
    }
    if state.isClosed, world.stages.contains(where: { $0 == .dispensable || $0 == .ready || $0 == .parked }) {
      return "a child waits for ever: \(world.stages)"
    }
    // If nothing prevents it, a child must be able to start.
    if !world.isIdle, !state.isClosed, !world.isCursorOpen, world.stages.contains(.dispensable) {
      return "a child is forgotten"
    }
    return nil
  }

  @Test(
    "3.2 No child twice, none forgotten, none over the limit, and the right verdict, on every path",
    arguments: Situation.all)
  func anySteps_inAnyOrder_keepTheRules(_ situation: Situation) {
    let walk = StateWalk(
      from: ListWorld(count: situation.count, policy: situation.policy, joins: situation.joins),
      identifiedBy: Key.init, inputs: \.steps,
      step: { world, step in
        world.take(step)
        return ListWalkTests.broken(world)
      })
    #expect(walk.complaints == [])
    // A composition that settles all has less state: the outcomes of its children are not part of
    // it.
    let least = [20, 80, 1_000, 5_000][situation.count] / (situation.policy == .settleAll ? 2 : 1)
    #expect(walk.stateCount > least, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }
}
