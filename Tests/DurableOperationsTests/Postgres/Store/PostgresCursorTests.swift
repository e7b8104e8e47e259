#if os(macOS) || os(Linux)
import Testing

@testable import DurableOperations

/// Where claims begin, and looks for what is due, while the front of an index is slow.
@Suite struct PostgresCursorTests {
  private typealias Key = PostgresClaimCursors.Key

  private let start = ContinuousClock.now
  private let fast = Duration.milliseconds(4), slow = Duration.milliseconds(6)

  private func key(_ id: Int64, rank: Int64 = 0) -> Key { Key(rank: rank, subrank: 0, attempts: 0, id: id) }

  /// After a claim of two lanes from their fronts.
  private func cursors(_ last: [Int64: PostgresClaimCursors.Key], took duration: Duration, exhausted: Set<Int64> = [])
    -> PostgresClaimCursors
  {
    var cursors = PostgresClaimCursors(slow: .milliseconds(5))
    let isFromFront = cursors.begin(at: start, every: .seconds(1))
    #expect(isFromFront)
    cursors.claimed(
      PostgresClaimCursors.Claimed(
        lanes: [4, 8], last: last, exhausted: exhausted, duration: duration, isFromFront: true))
    return cursors
  }

  // MARK: - Claims

  @Test func fastClaims_beginAtTheFront() {
    var cursors = cursors([4: key(7)], took: fast, exhausted: [8])
    #expect(cursors.key(of: 4) == .first && cursors.key(of: 8) == .first)
    let isFromFront = cursors.begin(at: start, every: .seconds(1))
    #expect(isFromFront)
  }

  @Test func slowClaim_nextBeginsBehindIt_untilTheIntervalIsOver() {
    var cursors = cursors([4: key(7)], took: slow)
    #expect(cursors.key(of: 4) == key(7) && cursors.key(of: 8) == .first)
    #expect(!cursors.beginsAtFront(at: start + .milliseconds(999), every: .seconds(1)))
    let isFromFront = cursors.begin(at: start + .seconds(1), every: .seconds(1))
    #expect(isFromFront)
    // What is fast from a key says nothing of the front.
    let further = PostgresClaimCursors.Claimed(
      lanes: [4, 8], last: [4: key(9)], exhausted: [], duration: .zero, isFromFront: false)
    cursors.claimed(further)
    #expect(cursors.isSlow && cursors.key(of: 4) == key(9))
  }

  @Test func slowClaim_laneWithoutJobs_isNotReadAgain() {
    var cursors = cursors([:], took: slow, exhausted: [4])
    #expect(cursors.key(of: 4) == .last && cursors.key(of: 8) == .first)
    cursors.free([4: key(3)])
    #expect(cursors.key(of: 4) == key(3))
  }

  @Test func laneWasReadFromItsFront_andHadNothing_isNotReadAgain() {
    var cursors = cursors([4: key(7)], took: slow)
    cursors.free([4: .first])
    #expect(cursors.key(of: 4) == .first)
    _ = cursors.begin(at: start, every: .seconds(1))
    cursors.claimed(
      PostgresClaimCursors.Claimed(lanes: [4], last: [:], exhausted: [4], duration: slow, isFromFront: false))
    #expect(cursors.key(of: 4) == .last)
  }

  @Test func jobFreedBefore_movesTheBeginningBack_aLaterOneDoesNot() {
    var cursors = cursors([4: key(7), 8: key(7)], took: slow)
    cursors.free([4: key(5), 8: key(9)])
    #expect(cursors.key(of: 4) == key(5) && cursors.key(of: 8) == key(7))
    cursors.free([4: key(100, rank: -1)])
    #expect(cursors.key(of: 4) == key(100, rank: -1))
  }

  @Test func jobFreedWhileAClaimIsUnderWay_isNotPassed() {
    var cursors = cursors([4: key(7)], took: slow)
    _ = cursors.begin(at: start, every: .seconds(1))
    cursors.free([4: key(5)])
    cursors.claimed(
      PostgresClaimCursors.Claimed(lanes: [4], last: [4: key(20)], exhausted: [], duration: fast, isFromFront: false))
    #expect(cursors.key(of: 4) == key(5))
    // The next claim has seen it.
    _ = cursors.begin(at: start, every: .seconds(1))
    cursors.claimed(
      PostgresClaimCursors.Claimed(lanes: [4], last: [4: key(21)], exhausted: [], duration: fast, isFromFront: false))
    #expect(cursors.key(of: 4) == key(21))
  }

  @Test func othersMadeSomethingDue_nextBeginsAtTheFront() {
    var cursors = cursors([4: key(7)], took: slow)
    cursors.workHasCome()
    let isFromFront = cursors.begin(at: start, every: .seconds(1))
    #expect(isFromFront)
    cursors.claimed(
      PostgresClaimCursors.Claimed(lanes: [4], last: [4: key(8)], exhausted: [], duration: fast, isFromFront: true))
    #expect(!cursors.isSlow && cursors.key(of: 4) == .first)
  }

  // MARK: - Times

  @Test func fastFront_isReadEachTime() {
    var cursor = PostgresFrontCursor(slow: .milliseconds(5))
    for _ in 0..<2 {
      let from = cursor.begin(at: start)
      #expect(from == .min && cursor.start == .min)
      cursor.read(from: from, to: 70, took: fast)
    }
  }

  @Test func slowFront_isReadOnceAMinute() {
    var cursor = PostgresFrontCursor(slow: .milliseconds(5))
    cursor.read(from: cursor.begin(at: start), to: 70, took: slow)
    #expect(cursor.start == 70)
    let next = cursor.begin(at: start + .seconds(59))
    #expect(next == 70)
    cursor.read(from: next, to: 90, took: .zero)
    #expect(cursor.isSlow && cursor.start == 90)
    let front = cursor.begin(at: start + .seconds(60))
    #expect(front == .min)
    cursor.read(from: front, to: 95, took: fast)
    #expect(!cursor.isSlow && cursor.start == .min)
  }
}
#endif
