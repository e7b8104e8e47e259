import Foundation
import Testing

@testable import CompositeOperations

/// The invariants for up to three added children, for any order of events.
@Suite("3.4 ChildTable with tags, all paths")
struct TagsWalkTests {
  private enum Stage: Int {
    case outside, tagged, taken, claimed, parked, ready, running, abandoned, settled, freed, gone
  }

  private enum Step: Hashable {
    case add(Int), claim, make(Int), skip(Int), start(Int), park(Int), unpark(Int), settle(Int), free(Int)
    case close, setWidth(Int), setSuspended(Bool)
  }

  /// Up to three operations, and the actions of the composition.
  private struct World {
    var state = ChildTable(.tags)
    var stages = [Stage](repeating: .outside, count: 3)
    /// The handle of each child, from its claim on.
    var handles = [-1, -1, -1]
    /// The tags that wait, in their order.
    var line: [Int] = []
    /// The tags of children that have waited for their dependencies, in their order.
    var readyLine: [Int] = []

    var inFlight: Int { stages.count { [.taken, .claimed, .running, .abandoned, .settled].contains($0) } }
    private var mayClaim: Bool {
      !state.blocks.contains(.suspended) && inFlight < state.width && (stages.contains(.ready) || !line.isEmpty)
    }

    var key: [Int] {
      stages.map(\.rawValue) + [
        state.width, state.blocks.contains(.suspended) ? 1 : 0, state.blocks.contains(.closed) ? 1 : 0,
      ]
        + line + [-1] + readyLine + [-1] + state.entries.map { $0.tag * 10 + Int($0.phase.rawValue) }
    }

    var steps: [Step] {
      var steps: [Step] =
        [.claim, .setSuspended(!state.blocks.contains(.suspended))] + [1, 2, .max].map { .setWidth($0) }
      if !state.blocks.contains(.closed) { steps += [.close] }
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
        stages[tag] = state.blocks.contains(.closed) ? .gone : .tagged
        if !state.blocks.contains(.closed) { line.append(tag) }
        offers = state.add(tags: [tag])
      case .claim: return claim()
      case .make(let tag):
        stages[tag] = .claimed
        let isOpen = state.made(handles[tag], Operation(), tag: tag, .claimed).isOpen
        return isOpen == state.blocks.contains(.closed) ? "\(tag) was made wrongly" : nil
      case .skip(let tag):
        stages[tag] = .gone
        state.skip(handles[tag])
        return state.inFlight == inFlight ? nil : "\(inFlight) in flight are counted as \(state.inFlight)"
      case .start(let tag):
        stages[tag] = state.mark(handles[tag], .ours) ? .running : .abandoned
        return (stages[tag] == .running) == state.blocks.contains(.closed) ? "\(tag) starts wrongly" : nil
      case .park(let tag):
        stages[tag] = state.mark(handles[tag], .ours) && state.mark(handles[tag], .waiting) ? .parked : .abandoned
        return nil
      case .unpark(let tag):
        stages[tag] = .ready
        readyLine.append(tag)
        offers = state.unpark(handles[tag], priority: .normal) && state.canClaim
      case .settle(let tag):
        stages[tag] = .settled
        let settled = state.take(handles[tag])?.tag
        if settled != tag { return "\(tag) settles as \(settled ?? -1)" }
        return state.inFlight == inFlight ? nil : "\(inFlight) in flight are counted as \(state.inFlight)"
      case .free(let tag):
        stages[tag] = .freed
        offers = state.freePlace(adding: [])
      case .close: return close()
      case .setWidth(let width):
        state.setWidth(width)
        offers = state.canClaim
      case .setSuspended(let isSuspended):
        state.setSuspended(isSuspended)
        offers = state.canClaim
      }
      if state.inFlight != inFlight { return "\(inFlight) in flight are counted as \(state.inFlight)" }
      return offers == mayClaim ? nil : "it says \(offers ?? false) where \(mayClaim) is right"
    }

    private mutating func claim() -> String? {
      let mayClaim = mayClaim
      let said: Bool
      guard let claim = state.claim() else {
        return mayClaim ? "nothing is claimed" : nil
      }
      let tag = claim.tag
      if claim.child != nil {
        guard mayClaim, handles[tag] == claim.handle, tag == readyLine.first else { return "\(tag) is claimed" }
        readyLine.removeFirst()
        stages[tag] = .claimed
      } else {
        guard mayClaim, readyLine.isEmpty, tag == line.first, !claim.isCancelled, !handles.contains(claim.handle)
        else { return "\(tag) is claimed of \(line)" }
        line.removeFirst()
        handles[tag] = claim.handle
        stages[tag] = .taken
      }
      said = claim.more
      return said == self.mayClaim ? nil : "there is \(said ? "nothing" : "something") more"
    }

    private mutating func close() -> String? {
      let waiting = stages.indices.filter { stages[$0] == .ready || stages[$0] == .parked }
      let closed = state.closeTags().filter { $0.phase != .ours }.map(\.tag)
      for tag in waiting { stages[tag] = .abandoned }
      for tag in line { stages[tag] = .gone }
      (line, readyLine) = ([], [])
      return Set(closed) == Set(waiting) ? nil : "\(closed) are given back of \(waiting)"
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
