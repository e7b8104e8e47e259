#if os(macOS) || os(Linux)
import TestSupport
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

  /// Jobs are enqueued, with any priority, retried, released, and claimed, before, behind and while
  /// a claim is under way.
  @Test(arguments: 0..<50) func whatThisProcessMadeDue_atRandom_isNeverPassed(seed: Int) {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    var cursors = PostgresClaimCursors(slow: .milliseconds(5))
    var waiting: [Int64: Set<Key>] = [:]
    var now = start, last: Int64 = 0
    func enqueue() {
      let lane = Int64(random.number(1...3))
      last += 1
      let key = Key(
        rank: Int64(random.number(0...2)), subrank: 0, attempts: Int64(random.number(0...1)), id: last)
      waiting[lane, default: []].insert(key)
      cursors.free([lane: random.chance(80) ? key : .first])
    }
    for _ in 0..<300 {
      for _ in 0..<random.number(0...3) { enqueue() }
      now += .milliseconds(random.number(0...300))
      if random.chance(5) { cursors.workHasCome() }
      let isFromFront = cursors.begin(at: now, every: .seconds(1))
      let lanes = (Int64(1)...3).filter { _ in random.chance(70) }
      var claimed = PostgresClaimCursors.Claimed(
        lanes: lanes, last: [:], exhausted: [], duration: .milliseconds(random.number(0...9)), isFromFront: isFromFront)
      for lane in lanes {
        let from = isFromFront ? .first : cursors.key(of: lane)
        let limit = random.number(0...4)
        let jobs = waiting[lane, default: []].sorted().filter { $0 >= from }.prefix(limit)
        if let key = jobs.last { claimed.last[lane] = key }
        if jobs.count < limit { claimed.exhausted.insert(lane) }
        waiting[lane]?.subtract(jobs)
      }
      // Committed after the server looked, and told before its answer came.
      if random.chance(30) { enqueue() }
      cursors.claimed(claimed)
      for (lane, keys) in waiting {
        #expect(keys.allSatisfy { $0 >= cursors.key(of: lane) }, "lane \(lane)")
      }
    }
  }

  @Test func tooSlow_isToldOnceAMinute_untilItIsNot() {
    var cursors = cursors([:], took: .milliseconds(50))
    let isTold = [0, 59, 60].map { cursors.isToBeTold(at: start + .seconds($0)) }
    #expect(isTold == [true, false, true])
    _ = cursors.begin(at: start + .seconds(100), every: .seconds(1))
    cursors.claimed(
      PostgresClaimCursors.Claimed(
        lanes: [4], last: [:], exhausted: [], duration: .milliseconds(49), isFromFront: true))
    let isToldAgain = cursors.isToBeTold(at: start + .seconds(1000))
    #expect(!isToldAgain)
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
