import Testing

@testable import DurableOperations

@Suite struct OutageTests {
  private let full = DatabaseError(.diskFull, message: "it is full", path: "here")
  private let busy = DatabaseError(.busy, message: "it is locked", path: "here")

  @Test func failures_areLoggedOnceForEachCode_untilAllGoesWell() {
    var outage = Outage()
    #expect(outage.failed(with: full, in: .round) == .log)
    #expect(outage.failed(with: full, in: .round) == .tell)
    #expect(outage.failed(with: busy, in: .look) == .log)
    #expect(outage.failed(with: full, in: .look) == .tell)
    #expect(outage.isOver(after: .round, hasWritten: true) == false, "looks fail still")
    #expect(outage.isOver(after: .look, hasWritten: false) == true)
    #expect(outage.isOver(after: .round, hasWritten: true) == false, "that was told")
    #expect(outage.failed(with: full, in: .round) == .log)
  }

  @Test func fullDisk_isNotOver_beforeSomethingIsWritten() {
    var outage = Outage()
    #expect(outage.failed(with: full, in: .round) == .log)
    #expect(outage.isOver(after: .look, hasWritten: false) == false)
    #expect(outage.isOver(after: .round, hasWritten: false) == false)
    #expect(outage.failed(with: full, in: .look) == .tell)
    #expect(outage.isOver(after: .round, hasWritten: true) == false)
    #expect(outage.failed(with: full, in: .look) == .tell)
    #expect(outage.isOver(after: .look, hasWritten: false) == false, "it failed after that was written")
    #expect(outage.isOver(after: .round, hasWritten: true) == true)
  }
}
