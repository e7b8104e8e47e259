import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that can run, limited to a width.
@Suite("3.4 ReadyState")
struct ReadyStateTests {
  private func add(_ state: inout ReadyState, _ tags: Int...) -> [Bool] {
    tags.map { state.add(tags: [$0]) }
  }

  /// The number of the next operation, which is made if it was not, and whether there is more.
  private func claim(_ state: inout ReadyState) -> (number: Int, more: Bool)? {
    if let claim = state.claim() { return claim }
    guard let (tag, _, more) = state.claimTag() else { return nil }
    return (state.made(Operation(), tag: tag), more)
  }

  /// Settles an operation and frees its place. Returns whether there is more to claim.
  private func settle(_ state: inout ReadyState, _ number: Int, adding tags: [Int] = []) -> Bool? {
    state.settled(number).map { _ in state.freePlace(adding: tags) }
  }

  /// The numbers that can be claimed, one after the other.
  private func claimAll(_ state: inout ReadyState) -> [String] {
    var claims: [String] = []
    while let (number, more) = claim(&state) { claims.append("\(number)\(more ? " and more" : "")") }
    return claims
  }

  @Test("A new state has nothing to claim")
  func new_isEmpty() {
    var state = ReadyState()
    #expect(state.claim() == nil)
    #expect(state.claimTag() == nil)
    #expect(state.inFlight == 0 && state.width == .max && !state.isSuspended && !state.isClosed)
    #expect(state.operations.isEmpty && state.waiting.isEmpty && state.firstPriority == nil)
  }

  @Test("Operations are claimed once, in order, and say whether there is more")
  func claim_several_handsOutEachOnce() {
    var state = ReadyState()
    #expect(add(&state, 7, 8, 9) == [true, true, true])
    #expect(state.operations.isEmpty)
    #expect(claimAll(&state) == ["1 and more", "2 and more", "3"])
    #expect(state.inFlight == 3 && state.waiting.isEmpty)
    #expect(state.operations.mapValues(\.tag) == [1: 7, 2: 8, 3: 9])
  }

  @Test("A settled operation returns its tag, once, and keeps its place until that is freed")
  func settled_claimed_givesTagOnce() {
    var state = ReadyState()
    _ = state.setWidth(1)
    _ = add(&state, 7, 8)
    _ = claim(&state)
    #expect(state.settled(1) == 7)
    #expect(state.settled(1) == nil)
    #expect(state.settled(2) == nil)
    #expect(state.inFlight == 1 && state.operations.isEmpty)
    #expect(add(&state, 9) == [false])
    #expect(claimAll(&state) == [])
    #expect(state.freePlace(adding: [10]) == true)
    #expect(state.inFlight == 0)
    #expect(claimAll(&state) == ["2"])
  }

  @Test("The width limits the operations in flight; settling, growing and resuming allow a claim")
  func width_andSuspension_limit() {
    var state = ReadyState()
    #expect(state.setWidth(2) == false)
    #expect(add(&state, 1, 2, 3, 4) == [true, true, true, true])
    #expect(claimAll(&state) == ["1 and more", "2"])
    #expect(add(&state, 5) == [false])
    #expect(settle(&state, 1) == true)
    #expect(claimAll(&state) == ["3"])
    #expect(state.setWidth(3) == true)
    #expect(state.setSuspended(true) == false)
    #expect(claimAll(&state) == [])
    #expect(settle(&state, 2) == false)
    #expect(state.setSuspended(false) == true)
    #expect(state.setWidth(1) == false)
    #expect(claimAll(&state) == [])
    #expect(settle(&state, 3) == true)
    #expect(claimAll(&state) == ["4"])
  }

  @Test("An operation that waits for dependencies does not count, is ready again once, and then counts")
  func park_claimed_leavesItsPlace() {
    var state = ReadyState()
    _ = state.setWidth(1)
    _ = add(&state, 1, 2)
    #expect(claimAll(&state) == ["1"])
    let parks = state.park(1)
    #expect(parks && state.inFlight == 0)
    #expect(claimAll(&state) == ["2"])
    #expect(state.unpark(1, priority: .normal) == false)
    #expect(state.unpark(1, priority: .normal) == false)
    #expect(state.unpark(9, priority: .normal) == false)
    #expect(state.waiting.count == 1 && state.firstPriority == .normal)
    #expect(settle(&state, 2) == true)
    #expect(claimAll(&state) == ["1"])
    #expect(state.inFlight == 1)
  }

  @Test("Those that have waited come before those that were not made, by priority and then in order")
  func unpark_several_sortsByPriority() {
    var state = ReadyState()
    let priorities: [Operation.QueuePriority] = [.normal, .low, .veryHigh, .normal]
    _ = add(&state, 1, 2, 3, 4)
    _ = claimAll(&state)
    for number in 1...4 { _ = state.park(number) }
    _ = add(&state, 5)
    for (index, priority) in priorities.enumerated() { _ = state.unpark(index + 1, priority: priority) }
    #expect(state.firstPriority == .veryHigh)
    #expect(state.waiting.map(\.number) == [3, 1, 4, 2])
    #expect(claimAll(&state) == ["3 and more", "1 and more", "4 and more", "2 and more", "5"])
  }

  @Test("Ownership is known until the operation has settled")
  func own_claimed_isKnown() {
    var state = ReadyState()
    _ = add(&state, 1)
    _ = claim(&state)
    #expect(!state.owns(1))
    #expect(state.own(1) == true)
    #expect(state.owns(1))
    _ = state.settled(1)
    #expect(!state.owns(1))
  }

  @Test(
    "Closed, what has waited and not started is given back, and counts until it has settled; tags are forgotten")
  func close_givesBackWhatWaits() {
    var state = ReadyState()
    _ = state.setWidth(3)
    _ = add(&state, 1, 2, 3, 4)
    for _ in 1...3 { _ = claim(&state) }
    _ = state.setSuspended(true)
    _ = state.park(1)
    _ = state.park(2)
    _ = state.unpark(2, priority: .normal)
    #expect(state.close() == [2, 1])
    #expect(state.isClosed && state.inFlight == 3 && state.waiting.isEmpty)
    #expect(state.close() == [])
    #expect(state.unpark(1, priority: .normal) == false)
    #expect(state.own(3) == false && state.owns(3))
    #expect(state.park(3) == false)
    #expect(state.setSuspended(false) == false && state.setWidth(.max) == false)
    #expect(add(&state, 5) == [false])
    #expect(claimAll(&state) == [])
    for number in 1...3 { #expect(settle(&state, number, adding: [6]) == false) }
    #expect(state.inFlight == 0)
  }

  @Test("A line of tags that never becomes empty gives all of them, in order")
  func tags_neverEmpty_keepTheirOrder() {
    var state = ReadyState()
    _ = state.add(tags: [0])
    for tag in 1...5_000 {
      _ = state.add(tags: [tag])
      let claimed = state.claimTag()?.tag
      #expect(claimed == tag - 1)
      state.skipTag()
    }
    let last = state.claimTag()?.tag
    #expect(last == 5_000)
  }
}
