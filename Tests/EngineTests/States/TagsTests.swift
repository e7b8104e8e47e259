import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// A table whose children are known by their numbers.
private final class NumberedTable {
  var table = ChildTable(.tags)
  private var handles: [Int: Int] = [:]

  func handle(_ number: Int) -> Int { handles[number] ?? number << 32 }

  func add(_ tags: Int...) -> [Bool] { tags.map { table.add(tags: [$0]) } }

  /// The number of the next child, which is made if that was not done before, and whether there is
  /// more.
  func claim() -> (number: Int, more: Bool)? {
    guard let claim = table.claim() else { return nil }
    let number = ChildTable.number(of: claim.handle)
    handles[number] = claim.handle
    if claim.child == nil { _ = table.made(claim.handle, Operation(), tag: claim.tag, .claimed) }
    return (number, claim.more)
  }

  /// The numbers that can be claimed, one after the other.
  func claimAll() -> [String] {
    var claims: [String] = []
    while let (number, more) = claim() { claims.append("\(number)\(more ? " and more" : "")") }
    return claims
  }

  /// Settles a child and frees its place. Returns whether there is more to claim.
  func settle(_ number: Int, adding tags: [Int] = []) -> Bool? {
    table.take(handle(number)).map { _ in table.freePlace(adding: tags) }
  }

  func mark(_ number: Int, _ phase: ChildTable.Phase) -> Bool { table.mark(handle(number), phase) }

  func unpark(_ number: Int, priority: Operation.QueuePriority = .normal) -> Bool {
    table.unpark(handle(number), priority: priority) && table.canClaim
  }

  func owns(_ number: Int) -> Bool {
    let phase = table.phase(of: handle(number))
    return phase == .ours || phase.isHeld
  }

  func setWidth(_ width: Int) -> Bool {
    table.setWidth(width)
    return table.canClaim
  }

  func setSuspended(_ isSuspended: Bool) -> Bool {
    table.setSuspended(isSuspended)
    return table.canClaim
  }

  func freePlace(adding tags: [Int]) -> Bool { table.freePlace(adding: tags) }

  func take(_ handle: Int) -> (tag: Int, child: Operation?)? { table.take(handle) }

  func child(_ handle: Int) -> Operation? { table.child(handle) }

  func close() -> [ChildTable.Entry] { table.closeTags() }

  /// The tags of the children, by number.
  var tags: [Int: Int] {
    Dictionary(uniqueKeysWithValues: table.entries.map { (ChildTable.number(of: $0.handle), $0.tag) })
  }

  var readyCount: Int { table.entries.count { $0.phase == .ready } }
}

@Suite("3.4 ChildTable with tags")
struct TagsTests {
  @Test("A new table has nothing to claim")
  func new_isEmpty() {
    let children = NumberedTable()
    let claim = children.claim()
    #expect(claim == nil)
    #expect(children.table.inFlight == 0 && children.table.width == .max && children.table.blocks.isEmpty)
    #expect(children.table.isExhausted && children.tags.isEmpty && children.table.firstPriority == nil)
  }

  @Test("Operations are claimed once, in order, and say whether there is more")
  func claim_several_handsOutEachOnce() {
    let children = NumberedTable()
    #expect(children.add(7, 8, 9) == [true, true, true])
    #expect(children.tags.isEmpty)
    #expect(children.claimAll() == ["1 and more", "2 and more", "3"])
    #expect(children.table.inFlight == 3 && children.readyCount == 0)
    #expect(children.tags == [1: 7, 2: 8, 3: 9])
  }

  @Test("A settled operation returns its tag, once, and keeps its place until that is freed")
  func settled_claimed_givesTagOnce() {
    let children = NumberedTable()
    _ = children.setWidth(1)
    _ = children.add(7, 8)
    _ = children.claim()
    let taken = [1, 1, 2].map { children.take(children.handle($0))?.tag }
    #expect(taken == [7, nil, nil])
    #expect(children.table.inFlight == 1 && children.tags.isEmpty)
    #expect(children.add(9) == [false])
    #expect(children.claimAll() == [])
    #expect(children.freePlace(adding: [10]) == true)
    #expect(children.table.inFlight == 0)
    #expect(children.claimAll() == ["2"])
  }

  @Test("The width limits the operations in flight; settling, growing and resuming allow a claim")
  func width_andSuspension_limit() {
    let children = NumberedTable()
    #expect(children.setWidth(2) == false)
    #expect(children.add(1, 2, 3, 4) == [true, true, true, true])
    #expect(children.claimAll() == ["1 and more", "2"])
    #expect(children.add(5) == [false])
    #expect(children.settle(1) == true)
    #expect(children.claimAll() == ["3"])
    #expect(children.setWidth(3) == true)
    #expect(children.setSuspended(true) == false)
    #expect(children.claimAll() == [])
    #expect(children.settle(2) == false)
    #expect(children.setSuspended(false) == true)
    #expect(children.setWidth(1) == false)
    #expect(children.claimAll() == [])
    #expect(children.settle(3) == true)
    #expect(children.claimAll() == ["4"])
  }

  @Test("An operation that waits for dependencies does not count, is ready again once, and then counts")
  func park_claimed_leavesItsPlace() {
    let children = NumberedTable()
    _ = children.setWidth(1)
    _ = children.add(1, 2)
    #expect(children.claimAll() == ["1"])
    let parks = children.mark(1, .waiting)
    #expect(parks && children.table.inFlight == 0)
    #expect(children.claimAll() == ["2"])
    #expect(children.unpark(1, priority: .normal) == false)
    #expect(children.unpark(1, priority: .normal) == false)
    #expect(children.unpark(9, priority: .normal) == false)
    #expect(children.readyCount == 1 && children.table.firstPriority == .normal)
    #expect(children.settle(2) == true)
    #expect(children.claimAll() == ["1"])
    #expect(children.table.inFlight == 1)
  }

  @Test("Those that have waited come before those that were not made, by priority and then in order")
  func unpark_several_sortsByPriority() {
    let children = NumberedTable()
    let priorities: [Operation.QueuePriority] = [.normal, .low, .veryHigh, .normal]
    _ = children.add(1, 2, 3, 4)
    _ = children.claimAll()
    for number in 1...4 { _ = children.mark(number, .waiting) }
    _ = children.add(5)
    for (index, priority) in priorities.enumerated() { _ = children.unpark(index + 1, priority: priority) }
    #expect(children.table.firstPriority == .veryHigh)
    #expect(children.readyCount == 4)
    #expect(children.claimAll() == ["3 and more", "1 and more", "4 and more", "2 and more", "5"])
  }

  @Test("Ownership is known until the operation has settled")
  func own_claimed_isKnown() {
    let children = NumberedTable()
    _ = children.add(1)
    _ = children.claim()
    #expect(!children.owns(1))
    #expect(children.mark(1, .ours) == true)
    #expect(children.owns(1))
    _ = children.settle(1)
    #expect(!children.owns(1))
  }

  @Test(
    "Closed, what has waited and not started is given back, and counts until it has settled; tags are forgotten")
  func close_givesBackWhatWaits() {
    let children = NumberedTable()
    _ = children.setWidth(3)
    _ = children.add(1, 2, 3, 4)
    for _ in 1...3 { _ = children.claim() }
    _ = children.setSuspended(true)
    _ = children.mark(1, .waiting)
    _ = children.mark(2, .waiting)
    _ = children.unpark(2, priority: .normal)
    let closed = children.close().map(\.phase)
    #expect(closed == [.waiting, .ready])
    #expect(children.table.blocks.contains(.closed) && children.table.inFlight == 3 && children.readyCount == 0)
    let again = children.close()
    #expect(again.isEmpty)
    #expect(children.unpark(1, priority: .normal) == false)
    #expect(children.mark(3, .ours) == false && children.owns(3))
    #expect(children.mark(3, .waiting) == false)
    #expect(children.setSuspended(false) == false && children.setWidth(.max) == false)
    #expect(children.add(5) == [false])
    #expect(children.claimAll() == [])
    for number in 1...3 { #expect(children.settle(number, adding: [6]) == false) }
    #expect(children.table.inFlight == 0)
  }

  @Test("A line of tags that never becomes empty gives all of them, in order")
  func tags_neverEmpty_keepTheirOrder() {
    let children = NumberedTable()
    _ = children.add(0)
    for tag in 1...5_000 {
      _ = children.add(tag)
      let claimed = children.table.claim()!
      #expect(claimed.tag == tag - 1)
      children.table.skip(claimed.handle)
    }
    let last = children.table.claim()?.tag
    #expect(last == 5_000)
  }

  @Test("A late call with the handle of a child that is gone finds nothing, also if the slot has another child")
  func lateHandle_findsNothing() {
    let children = NumberedTable()
    _ = children.add(1, 2, 3)
    _ = children.claimAll()
    for number in 1...2 { _ = children.settle(number) }
    _ = children.add(4, 5)
    let claims = children.claimAll()
    #expect(claims == ["4 and more", "5"])
    #expect(children.tags == [3: 3, 4: 4, 5: 5])
    for number in 1...2 {
      let (owns, settles) = (children.owns(number), children.settle(number))
      let child = children.child(children.handle(number))
      #expect(!owns && settles == nil && child == nil)
    }
  }

  @Test("An idle table gives the memory of many children back")
  func manyChildren_settled_areForgotten() {
    let children = NumberedTable()
    _ = children.table.add(tags: 1...1_000)
    _ = children.claimAll()
    for number in (1...1_000).reversed() { _ = children.settle(number) }
    #expect(children.table.isExhausted && children.table.inFlight == 0)
    _ = children.add(7, 8)
    let claims = children.claimAll()
    #expect(claims == ["1001 and more", "1002"])
  }
}
