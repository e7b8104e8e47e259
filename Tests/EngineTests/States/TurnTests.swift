import Testing

@testable import CompositeOperations

/// How long a thread continues before it yields.
@Suite("3.4 Turn")
struct TurnTests {
  /// Returns how many pieces of work a turn of `pieces` does, and how often it reads the clock.
  ///
  /// - Parameter lasting: how long each piece takes, in nanoseconds; the last one stands for all
  ///   after it.
  private func run(of pieces: Int, lasting: [Int64]) -> (pieces: Int, readings: Int) {
    var (now, readings, done) = (Int64(5_000_000), 0, 0)
    var turn = Turn()
    turn.begin(of: pieces, at: now)
    while turn.continues(now: {
      readings += 1
      return now
    }) {
      now += lasting[min(done, lasting.count - 1)]
      done += 1
    }
    return (done, readings)
  }

  @Test("A turn that has not begun is over")
  func continues_notBegun_isFalse() {
    var turn = Turn()
    #expect(!turn.continues { 0 })
  }

  @Test("Short pieces end it by their number", arguments: [1, 4, 64])
  func continues_shortPieces_endsByNumber(pieces: Int) {
    #expect(run(of: pieces, lasting: [0]).pieces == pieces)
    #expect(run(of: pieces, lasting: [5_000]).pieces == pieces)
  }

  @Test("The clock is read after a few short pieces only")
  func continues_shortPieces_readsSeldom() {
    #expect(run(of: 64, lasting: [1_000]).readings <= 64 / 4 + 2)
    #expect(run(of: 4, lasting: [1_000]).readings <= 2)
  }

  @Test(
    "Long pieces end it after a third of a millisecond, and the piece in which that is over",
    arguments: [(50_000, 7), (40_000, 9), (100_000, 4), (174_999, 3), (175_000, 2), (5_000_000_000, 1)])
  func continues_longPieces_endsByTime(length: Int64, pieces: Int) {
    #expect(run(of: 64, lasting: [length]).pieces == pieces)
  }

  @Test("After short pieces no more than a few long ones are done", arguments: 1...40)
  func continues_longAfterShortPieces_endsSoon(short: Int) {
    let lengths = [Int64](repeating: 100, count: short) + [5_000_000]
    #expect((short + 1...short + 4).contains(run(of: 64, lasting: lengths).pieces))
  }

  @Test("Once it is over it stays so, whatever the time")
  func continues_afterItsEnd_isFalse() {
    var turn = Turn()
    turn.begin(of: 64, at: 0)
    #expect(turn.continues { 0 })
    #expect(!turn.continues { Turn.length })
    #expect(!turn.continues { 0 })
    turn.begin(of: 1, at: Turn.length)
    #expect(turn.continues { 0 })
    #expect(!turn.continues { 0 })
  }
}
