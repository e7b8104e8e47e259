import Testing

@testable import CompositeOperations

/// Which slots of one queue are lent to which trees.
@Suite("3.4 SlotLoans")
struct SlotLoansTests {
  /// The loans, as text: an expectation cannot contain mutating calls.
  private struct World {
    var loans = SlotLoans<LaneSource>()
    let trees = (0..<6).map { LaneSource("\($0)") }

    /// Returns the trees after whose update there is a match.
    mutating func offer(_ numbers: Int...) -> [Int] {
      numbers.filter { loans.update(trees[$0], offers: true, wants: false) }
    }

    mutating func want(_ numbers: Int...) -> [Int] {
      numbers.filter { loans.update(trees[$0], offers: false, wants: true) }
    }

    mutating func leave(_ numbers: Int...) -> [Int] {
      numbers.filter { loans.update(trees[$0], offers: false, wants: false) }
    }

    mutating func match(limit: Int = 9) -> [String] {
      loans.match(limit: limit).map { "\($0.lender)→\($0.borrower)" }
    }
  }

  @Test("Lenders and borrowers are matched first come, first served, each once")
  func match_several_isFirstComeFirstServed() {
    var world = World()
    let answers = [world.offer(0, 1, 0), world.want(2, 3, 4)]
    #expect(answers == [[], [2, 3, 4]])
    let matches = [world.match(), world.match()]
    #expect(matches == [["0→2", "1→3"], []])
    #expect(world.loans.count == 2)
    world.loans.ended()
    let again = world.offer(0)
    let match = world.match()
    #expect(again == [0] && match == ["0→4"])
  }

  @Test("A tree that neither offers nor wants a slot is on no list")
  func update_neither_isOnNoList() {
    var world = World()
    let answers = [world.offer(0), world.leave(0), world.want(1), world.leave(1), world.offer(2)]
    #expect(answers == [[], [], [], [], []])
    let matches = world.match()
    #expect(matches == [])
  }

  @Test("No more are lent than the limit has room for, but one; none without a limit", arguments: [0, 1, 2, 3, -1])
  func match_withLimit_lendsNoMore(limit: Int) {
    var world = World()
    _ = world.offer(0, 1, 2)
    _ = world.want(3, 4, 5)
    let counts = [world.match(limit: limit).count, world.match(limit: limit).count]
    #expect(counts == [limit < 0 ? 0 : max(limit, 1), 0])
    guard limit >= 0 else { return }
    world.loans.ended()
    let further = world.match(limit: limit).count
    #expect(further == (limit == 3 ? 0 : 1))
  }
}
