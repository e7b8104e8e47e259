import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Which children may start if some need a slot and others do not, against a list in the order of
/// the children.
@Suite("3.4 ChildTable with a list, children with and without a slot")
struct ListSlotTests {
  /// The simplest model of which children may start: the first ready ones, as many as there is room
  /// for.
  private struct Model {
    var ready: [(tag: Int, priority: Int, place: Int, needsSlot: Bool)] = []
    var lastPlace = 0
    var width = Int.max
    var isSuspended = false
    var inFlight: Set<Int> = []

    mutating func add(_ tag: Int, _ priority: Operation.QueuePriority, needsSlot: Bool) {
      lastPlace += 1
      ready.append((tag, -priority.rawValue, lastPlace, needsSlot))
      ready.sort { ($0.priority, $0.place) < ($1.priority, $1.place) }
    }

    func first(needingSlot: Bool) -> Int? {
      guard !isSuspended, inFlight.count < width else { return nil }
      return ready.prefix(width - inFlight.count).first { $0.needsSlot == needingSlot }?.tag
    }

    mutating func take(_ tag: Int) {
      ready.removeAll { $0.tag == tag }
      inFlight.insert(tag)
    }
  }

  private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]

  @Test("In any order of steps the same may start as in a sorted list", arguments: 0..<20)
  func anySteps_letTheFirstStart(seed: Int) {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    for _ in 0..<200 {
      let count = Int.random(in: 1...12, using: &random)
      var state = ChildTable(.list(count, .waitForAll))
      var model = Model()
      // Children of equal priority that all need a slot are handed out as a range.
      let isRange = Bool.random(using: &random)
      var needsSlot = (0..<count).map { _ in isRange || Bool.random(using: &random) }
      let priority = { (random: inout SeededRandomNumberGenerator) in
        Bool.random(using: &random) ? .normal : ListSlotTests.priorities.randomElement(using: &random)!
      }
      model.width = [1, 2, 3, 5, .max].randomElement(using: &random)!
      state.setWidth(model.width)
      let isOpen = state.begin(cancelled: false)
      #expect(isOpen)
      if isRange { state.list([0..<count]) }
      for tag in 0..<count {
        let priority = isRange ? .normal : priority(&random)
        if !isRange { state.add(ready: tag, priority: priority, needsSlot: needsSlot[tag]) }
        model.add(tag, priority, needsSlot: needsSlot[tag])
      }
      var done = 0
      var parked: Set<Int> = []
      var isStarterCalled = false
      for _ in 0..<60 {
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
          let expected = model.first(needingSlot: true)
          if let expected { model.take(expected) }
          let more = model.first(needingSlot: true) != nil
          let claim = state.claim(done: done)
          #expect(claim?.handle == expected && claim?.more ?? false == (expected != nil && more))
        case 1:
          let expected = model.first(needingSlot: false)
          let isCalled = state.callStarter(done: done)
          #expect(isCalled == (expected != nil && !isStarterCalled))
          isStarterCalled = isStarterCalled || expected != nil
        case 2 where isStarterCalled:
          let expected = model.first(needingSlot: false)
          if let expected { model.take(expected) }
          isStarterCalled = expected != nil && model.first(needingSlot: false) != nil
          let claim = state.claimWithoutSlot(done: done)
          #expect(claim?.handle == expected && claim?.more ?? false == isStarterCalled)
        case 3:
          guard let tag = model.inFlight.sorted().randomElement(using: &random) else { continue }
          model.inFlight.remove(tag)
          done += 1
        case 4:
          guard let tag = model.inFlight.sorted().randomElement(using: &random) else { continue }
          model.inFlight.remove(tag)
          parked.insert(tag)
          let isParked = state.mark(tag, .waiting)
          #expect(isParked)
        case 5:
          guard let tag = parked.sorted().randomElement(using: &random) else { continue }
          parked.remove(tag)
          let priority = priority(&random)
          needsSlot[tag] = Bool.random(using: &random)
          let isReady = state.unpark(tag, priority: priority, needsSlot: needsSlot[tag])
          #expect(isReady)
          model.add(tag, priority, needsSlot: needsSlot[tag])
        default:
          if Bool.random(using: &random) {
            model.width = [1, 2, 4, .max].randomElement(using: &random)!
            state.setWidth(model.width)
          } else {
            model.isSuspended.toggle()
            state.setSuspended(model.isSuspended)
          }
        }
      }
      let before = state.closeList(left: []) ?? []
      let abandoned = before.indices.filter { before[$0] == .listed || before[$0].isHeld }
      #expect(Set(abandoned) == parked.union(model.ready.map(\.tag)))
      let (claim, isCalled) = (state.claim(done: done), state.callStarter(done: done))
      let claimed = state.claimWithoutSlot(done: done)
      #expect(claim == nil && !isCalled && claimed == nil)
    }
  }
}
