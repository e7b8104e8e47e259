import Foundation
import Testing

@testable import CompositeOperations

/// The invariants for up to three added operations, for any order of events.
@Suite("3.4 ReadyState, all paths")
struct ReadyStateWalkTests {
  private enum Stage: Int {
    case outside, tagged, taken, claimed, parked, ready, running, abandoned, settled, freed, gone
  }

  private enum Step: Hashable {
    case add(Int), claim, make(Int), skip(Int), start(Int), park(Int), unpark(Int), settle(Int), free(Int)
    case close, setWidth(Int), setSuspended(Bool)
  }

  /// Up to three operations, and the actions of `ReadySource`.
  private struct World {
    var state = ReadyState()
    var stages = [Stage](repeating: .outside, count: 3)
    /// The number that each operation has, once it was made.
    var numbers = [0, 0, 0]
    /// The tags that wait, in their order.
    var line: [Int] = []

    var inFlight: Int { stages.count { [.taken, .claimed, .running, .abandoned, .settled].contains($0) } }
    private var mayClaim: Bool {
      !state.isSuspended && inFlight < state.width && (stages.contains(.ready) || !line.isEmpty)
    }

    var key: [Int] {
      stages.map(\.rawValue) + [state.width, state.isSuspended ? 1 : 0, state.isClosed ? 1 : 0]
        + line + [-1] + state.waiting.map { state.operations[$0.number]!.tag } + [-1]
        + stages.indices.map { state.owns(numbers[$0]) ? 1 : 0 }
    }

    var steps: [Step] {
      var steps: [Step] = [.claim, .setSuspended(!state.isSuspended)] + [1, 2, .max].map { .setWidth($0) }
      if !state.isClosed { steps += [.close] }
      for (tag, stage) in stages.enumerated() {
        switch stage {
        case .outside: steps.append(.add(tag))
        case .taken: steps += [.make(tag), .skip(tag)]
        case .claimed: steps += [.start(tag), .park(tag)]
        case .parked: steps.append(.unpark(tag))
        case .running, .abandoned: steps.append(.settle(tag))
        case .settled: steps.append(.free(tag))
        case .tagged, .ready, .freed, .gone: break
        }
      }
      return steps
    }

    mutating func take(_ step: Step) -> String? {
      let offers: Bool?
      switch step {
      case .add(let tag):
        stages[tag] = state.isClosed ? .gone : .tagged
        if !state.isClosed { line.append(tag) }
        offers = state.add(tags: [tag])
      case .claim: return claim()
      case .make(let tag):
        stages[tag] = .claimed
        numbers[tag] = state.made(Operation(), tag: tag)
        return numbers.count { $0 == numbers[tag] } == 1 ? nil : "\(tag) has the number of another one"
      case .skip(let tag):
        stages[tag] = .gone
        state.skipTag()
        return state.inFlight == inFlight ? nil : "\(inFlight) in flight are counted as \(state.inFlight)"
      case .start(let tag):
        stages[tag] = state.own(numbers[tag]) ? .running : .abandoned
        return (stages[tag] == .running) == state.isClosed ? "\(tag) starts wrongly" : nil
      case .park(let tag):
        stages[tag] = state.own(numbers[tag]) && state.park(numbers[tag]) ? .parked : .abandoned
        return nil
      case .unpark(let tag):
        stages[tag] = .ready
        offers = state.unpark(numbers[tag], priority: .normal)
      case .settle(let tag):
        stages[tag] = .settled
        let settled = state.settled(numbers[tag])
        if settled != tag { return "\(tag) settles as \(settled ?? -1)" }
        return state.inFlight == inFlight ? nil : "\(inFlight) in flight are counted as \(state.inFlight)"
      case .free(let tag):
        stages[tag] = .freed
        offers = state.freePlace(adding: [])
      case .close: return close()
      case .setWidth(let width): offers = state.setWidth(width)
      case .setSuspended(let isSuspended): offers = state.setSuspended(isSuspended)
      }
      if state.inFlight != inFlight { return "\(inFlight) in flight are counted as \(state.inFlight)" }
      return offers == mayClaim ? nil : "it says \(offers ?? false) where \(mayClaim) is right"
    }

    private mutating func claim() -> String? {
      let mayClaim = mayClaim
      let said: Bool
      if let (number, more) = state.claim() {
        guard mayClaim, let tag = numbers.firstIndex(of: number), stages[tag] == .ready else {
          return "\(number) is claimed"
        }
        stages[tag] = .claimed
        said = more
      } else if stages.contains(.ready), mayClaim {
        return "nothing is claimed of what has waited"
      } else if let (tag, isCancelled, more) = state.claimTag() {
        guard mayClaim, tag == line.first, !isCancelled else { return "\(tag) is claimed of \(line)" }
        line.removeFirst()
        stages[tag] = .taken
        said = more
      } else {
        return mayClaim ? "nothing is claimed" : nil
      }
      return said == self.mayClaim ? nil : "there is \(said ? "nothing" : "something") more"
    }

    private mutating func close() -> String? {
      let waiting = stages.indices.filter { stages[$0] == .ready || stages[$0] == .parked }
      let closed = Set(state.close())
      for tag in waiting { stages[tag] = .abandoned }
      for tag in line { stages[tag] = .gone }
      line = []
      return closed == Set(waiting.map { numbers[$0] }) ? nil : "\(closed) are given back of \(waiting)"
    }
  }

  @Test("Nothing twice, nothing forgotten, nothing over the width, on every path")
  func anySteps_inAnyOrder_keepTheRules() {
    let walk = StateWalk(
      from: World(), identifiedBy: \.key, inputs: \.steps, step: { world, step in world.take(step) })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > 2_000, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }
}
