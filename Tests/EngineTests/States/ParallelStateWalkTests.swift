import TestSupport
import Testing

@testable import CompositeOperations

/// The invariants of a parallel composition of up to two children, and three in full, for any order
/// of events.
@Suite("3.2 ParallelState, all paths")
struct ParallelStateWalkTests {
  struct Situation: Sendable, CustomTestStringConvertible {
    let count: Int
    let policy: ParallelState.Policy
    let joins: Bool

    var testDescription: String { "\(count) children, \(policy), \(joins ? "joining" : "its own")" }

    static let all = (0...Scale.count(3, least: 2)).flatMap { count in
      ParallelState.Policy.allCases.flatMap { policy in
        [false, true].map { Situation(count: count, policy: policy, joins: $0) }
      }
    }
  }

  private struct Key: Hashable {
    let stages: [ParallelWorld.Stage]
    let history: ParallelWorld.History
    let phase: ParallelState.Phase
    let sets: [Set<Int>]
    let ready: [Int]
    let numbers: [Int]
    let flags: [Bool]

    init(_ world: ParallelWorld) {
      let state = world.state
      stages = world.stages
      history = world.history
      phase = state.phase
      sets = [state.parked, state.owned, state.joined]
      ready = state.ready.all
      numbers = [state.width, state.handedOut] + state.failures.map(\.tag)
      flags = [state.isSuspended, state.wasCancelled, state.sawOutsideCancel, world.isCursorOpen]
    }
  }

  /// Which rule is broken, if one is.
  private static func broken(_ world: ParallelWorld) -> String? {
    if let complaint = world.complaint { return complaint }
    let state = world.state
    let isOver = world.stages.allSatisfy { $0 == .done } && state.phase != .idle
    if (state.phase == .settled) != isOver { return "it is \(state.phase) with \(world.stages)" }
    if state.phase == .running || state.phase == .closing {
      let isClosing = world.history.isClosing(state.policy)
      if (state.phase == .closing) != isClosing {
        return "it is \(state.phase), and should \(isClosing ? "" : "not ")be closing"
      }
    }
    if state.phase == .closing, world.stages.contains(where: { $0 == .dispensable || $0 == .ready || $0 == .parked }) {
      return "a child waits for ever: \(world.stages)"
    }
    // If nothing prevents it, a child must be able to start.
    if state.phase == .running, !world.isCursorOpen, world.stages.contains(.dispensable) {
      return "a child is forgotten"
    }
    return nil
  }

  @Test(
    "3.2 No child twice, none forgotten, none over the limit, and the right verdict, on every path",
    arguments: Situation.all)
  func anySteps_inAnyOrder_keepTheRules(_ situation: Situation) {
    let walk = StateWalk(
      from: ParallelWorld(count: situation.count, policy: situation.policy, joins: situation.joins),
      identifiedBy: Key.init, inputs: \.steps,
      step: { world, step in
        world.take(step)
        return ParallelStateWalkTests.broken(world)
      })
    #expect(walk.complaints == [])
    // A composition that settles all has less state: the outcomes of its children are not part of
    // it.
    let least = [20, 80, 1_000, 5_000][situation.count] / (situation.policy == .settleAll ? 2 : 1)
    #expect(walk.stateCount > least, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }
}
