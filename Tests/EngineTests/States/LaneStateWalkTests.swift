import TestSupport
import Testing

@testable import CompositeOperations

/// The invariants of the lanes of a queue for any order of events: two compositions, up to two
/// pieces of work, and three in full.
@Suite("3.4 LaneState, all paths")
struct LaneStateWalkTests {
  struct Situation: Sendable, CustomTestStringConvertible {
    let holdsSlot: Bool
    let limit: Int
    let loans: Bool
    /// As many pieces of work as can be followed on every path: loans make many more states of
    /// each.
    let pieces: Int
    /// The compositions that have them.
    var compositions = [0, 1]

    var testDescription: String {
      "limit \(limit), \(holdsSlot ? "with" : "without") a slot held\(loans ? ", with loans" : ""), \(pieces) pieces"
    }

    /// What is reached at least.
    var stateCount: Int { loans ? 200 : pieces == 3 ? 300 : 50 }

    static let all = [false, true].flatMap { holdsSlot in
      (1...3).map { Situation(holdsSlot: holdsSlot, limit: $0, loans: false, pieces: Scale.count(3, least: 2)) }
        + (1...2).map { Situation(holdsSlot: holdsSlot, limit: $0, loans: true, pieces: 1) }
        + (1...2).map { Situation(holdsSlot: holdsSlot, limit: $0, loans: true, pieces: 2, compositions: [1]) }
    }

    /// Only lanes in lent slots depend on when helpers come.
    var world: LaneWorld {
      LaneWorld(
        holdsSlot: holdsSlot, limit: limit, pieces: pieces, of: compositions, loans: loans,
        helpersComeLate: loans && (limit == 1 || pieces == 1))
    }
  }

  private struct Key: Hashable {
    let base: LaneState<LaneSource>.Base
    let helpers: Int
    let flags: [Bool]
    let compositions: String
    let lanes: [LaneWorld.Lane]
    let numbers: [Int]

    /// The generations grow forever; it only matters whether one is still current.
    init(_ world: LaneWorld) {
      base = world.state.base
      helpers = world.state.helpers
      flags = [
        world.state.hasStandby, world.state.mayBeginLoans, world.state.wantsLoan, world.isLoanMatched,
        world.helperToAdd != nil, world.arrivedHelpers.contains { $0 == world.state.standby?.number },
      ]
      compositions = world.state.compositions.map(\.description).joined()
      numbers = world.pieces + world.offersDue + [world.piecesLeft, world.queuedHelpers, world.arrivedHelpers.count]
      let present = Key.presentGenerations(world.state)
      lanes = world.lanes.map { lane in
        var lane = lane
        switch lane.stage {
        case .attending(let composition, let generation):
          lane.stage = .attending(composition, generation: generation == present[composition] ? 1 : 0)
        case .foundNothing(let composition, let generation):
          lane.stage = .foundNothing(composition, generation: generation == present[composition] ? 1 : 0)
        case .toBegin, .between, .running, .ran, .inFlight: break
        }
        return lane
      }
    }

    private static func presentGenerations(_ state: LaneState<LaneSource>) -> [Int: Int] {
      var state = state
      var generations: [Int: Int] = [:]
      for _ in state.compositions {
        guard let (composition, generation, _) = state.nextSource() else { break }
        generations[composition === LaneSource.a ? 0 : 1] = generation
      }
      return generations
    }
  }

  /// Which rule is broken, if one is.
  private static func broken(_ world: LaneWorld, limit: Int, loans: Bool) -> String? {
    let state = world.state
    let helpers = world.lanes.count { $0.slot == .helper }
    let bases = world.lanes.count { $0.isBase }
    let waiting = world.queuedHelpers + (world.helperToAdd == nil ? 0 : 1)
    if waiting != (state.hasStandby ? 1 : 0) { return "\(waiting) helpers wait, \(String(describing: state.standby))" }
    if world.hasMissedCancels { return "nothing in the queue stands for a lane in a lent slot" }
    if helpers != state.helpers { return "\(helpers) helpers are counted as \(state.helpers)" }
    if bases > 1 || (bases == 1) != (state.base == .working) { return "\(bases) base lanes, \(state.base)" }
    if state.wantsLoan && !state.hasStandby { return "a loan is wanted without a standby" }
    if state.loans > 0 && !state.hasStandby { return "there is a loan without a standby" }
    if world.lanes.count(where: { $0.slot == .loan }) != state.loans { return "\(state.loans) loans are counted" }
    if world.occupied > limit { return "\(world.occupied) slots are taken" }
    if state.compositions.count > 2 || state.hasWork != !state.compositions.isEmpty {
      return "the compositions are \(state.compositions)"
    }
    // For work that no lane has taken, a lane must be about to look, or wait in the queue for a
    // slot.
    let isAttendedTo = world.lanes.contains { $0.stage != .inFlight(0) && $0.stage != .inFlight(1) }
    if world.hasWork(0) || world.hasWork(1), world.offersDue == [0, 0], !state.hasStandby, !isAttendedTo {
      return "work is forgotten: \(world.pieces), \(state.base), \(world.lanes)"
    }
    // If a slot may be lent, and this work holds something, the tree must ask for one.
    if loans, world.hasWork(0) || world.hasWork(1), world.offersDue == [0, 0], !isAttendedTo, !state.wantsLoan,
      !world.isLoanMatched
    {
      return "no loan is asked for: \(world.pieces), \(state.base), \(world.lanes)"
    }
    // When nothing further can happen, all work is done, and a standby waits for a slot only if
    // there is none.
    if world.steps.isEmpty {
      let isQuiet = world.pieces == [0, 0] && !state.hasWork && world.lanes.isEmpty
      if !isQuiet || state.hasStandby && world.occupied < limit { return "it stops with \(world.pieces), \(state)" }
    }
    return nil
  }

  @Test(
    "On every path no work is forgotten, and no slot too many is taken; at its end all is done",
    arguments: Situation.all)
  func anySteps_inAnyOrder_keepTheRules(_ situation: Situation) {
    let walk = StateWalk(
      from: situation.world,
      identifiedBy: Key.init,
      inputs: \.steps,
      step: { world, step in
        world.take(step)
        return LaneStateWalkTests.broken(world, limit: situation.limit, loans: situation.loans)
      })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > situation.stateCount, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }
}
