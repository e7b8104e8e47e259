#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresClaimCursorsTests {
  private typealias Key = PostgresClaimCursors.Key
  private let start = ContinuousClock.now
  private let interval = Duration.seconds(1)
  private let fast = Duration.milliseconds(4)
  private let slow = Duration.milliseconds(5)

  private func begins(_ cursors: inout PostgresClaimCursors, at instant: ContinuousClock.Instant) -> Bool {
    cursors.beginsAtFront(at: instant, every: interval)
  }

  private static func key(_ id: Int64) -> Key { Key(rank: 1, subrank: 2, attempts: 0, id: id) }

  @Test func fast_beginsAtTheFrontEachTime() {
    var cursors = PostgresClaimCursors()
    for milliseconds in 0..<3 {
      #expect(begins(&cursors, at: start + .milliseconds(milliseconds)))
      cursors.claimed([4: Self.key(9)], took: fast, fromFront: true)
      #expect(!cursors.isSlow)
    }
  }

  @Test func slow_goesOnAtTheLastKeys_untilTheIntervalIsOver() {
    var cursors = PostgresClaimCursors()
    #expect(begins(&cursors, at: start))
    cursors.claimed([4: Self.key(9), 5: Self.key(3)], took: slow, fromFront: true)
    #expect(cursors.isSlow)
    #expect(!begins(&cursors, at: start + .milliseconds(999)))
    cursors.claimed([4: Self.key(12)], took: fast, fromFront: false)
    #expect(cursors.isSlow, "only a claim from the front tells")
    #expect(cursors.key(of: 4) == Self.key(12))
    #expect(cursors.key(of: 5) == Self.key(3), "a lane without a claim stays where it was")
    #expect(cursors.key(of: 6) == .first)
    #expect(begins(&cursors, at: start + interval))
    #expect(!begins(&cursors, at: start + interval))
  }

  @Test func slow_thenFastFromTheFront_forgetsTheKeys() {
    var cursors = PostgresClaimCursors()
    _ = cursors.beginsAtFront(at: start, every: interval)
    cursors.claimed([4: Self.key(9), 5: Self.key(3)], took: slow, fromFront: true)
    cursors.claimed([4: Self.key(2)], took: fast, fromFront: true)
    #expect(!cursors.isSlow)
    #expect(cursors.key(of: 4) == Self.key(2) && cursors.key(of: 5) == .first)
  }

  @Test func slowFromTheFront_goesBackToWhatItFound() {
    var cursors = PostgresClaimCursors()
    cursors.claimed([4: Self.key(9)], took: slow, fromFront: true)
    cursors.claimed([4: Self.key(2)], took: slow, fromFront: true)
    #expect(cursors.key(of: 4) == Self.key(2), "what stands before has come")
  }

  @Test func workHasCome_whileSlow_beginsAtTheFront() {
    var cursors = PostgresClaimCursors()
    _ = cursors.beginsAtFront(at: start, every: interval)
    cursors.claimed([:], took: slow, fromFront: true)
    #expect(!begins(&cursors, at: start))
    cursors.workHasCome()
    #expect(begins(&cursors, at: start))
    #expect(!begins(&cursors, at: start))
  }

  @Test(arguments: 0..<50) func atRandom_doWhatASimpleModelSays(seed: Int) {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    var cursors = PostgresClaimCursors()
    var (now, isSlow, last): (Int, Bool, Int?) = (0, false, nil)
    var keys: [Int64: Key] = [:]
    for _ in 0..<300 {
      now += random.number(0...600)
      if random.chance(10) {
        cursors.workHasCome()
        last = nil
      }
      let front = !isSlow || last.map { now - $0 >= 1000 } ?? true
      let begins = cursors.beginsAtFront(at: start + .milliseconds(now), every: interval)
      #expect(begins == front)
      if front { last = now }
      for lane in Int64(1)...4 where isSlow { #expect(cursors.key(of: lane) == keys[lane] ?? .first) }
      var claimed: [Int64: Key] = [:]
      for lane in Int64(1)...4 where random.chance(50) { claimed[lane] = Self.key(Int64(random.number(1...99))) }
      let milliseconds = random.number(0...9)
      cursors.claimed(claimed, took: .milliseconds(milliseconds), fromFront: front)
      if front { isSlow = milliseconds >= 5 }
      keys = isSlow ? keys.merging(claimed) { $1 } : claimed
      #expect(cursors.isSlow == isSlow)
    }
  }
}
#endif
