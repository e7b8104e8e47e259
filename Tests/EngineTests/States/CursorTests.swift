import TestSupport
import Testing

@testable import CompositeOperations

/// Handing numbers out in order, each once, without a lock.
@Suite("3.4 Cursor", .hangLimit)
struct CursorTests {
  /// The rest at every point of handing out `count` numbers.
  @Test("In order, each once, with the rest, closed at any point", arguments: 0...4)
  func take_anyCount_handsOutInOrder(count: Int) {
    for taken in 0...(count + 2) {
      let cursor = Cursor(count: count)
      #expect(cursor.take() == nil)
      #expect(cursor.remaining.isEmpty)
      cursor.open()
      #expect(cursor.remaining == 0..<count)
      for number in 0..<taken {
        let next = cursor.take()
        #expect(next?.number == (number < count ? number : nil))
        #expect(next?.more == (number < count ? number + 1 < count : nil))
      }
      let rest = min(taken, count)..<count
      #expect(cursor.remaining == rest)
      #expect(cursor.close() == rest)
      #expect(cursor.take() == nil && cursor.close() == nil && cursor.remaining.isEmpty)
    }
  }

  @Test("A cursor that was never open has nothing to close")
  func close_neverOpen_givesNil() {
    let cursor = Cursor(count: 3)
    #expect(cursor.close() == nil)
  }

  private final class Shared: Sendable {
    let cursor: Cursor

    init(count: Int) {
      cursor = Cursor(count: count)
      cursor.open()
    }
  }

  @Test("Four threads get each number once; no thread gets a number that another one closed", arguments: [true, false])
  func take_fourThreads_handsOutEachOnce(closes: Bool) async {
    for _ in 0..<20 {
      let shared = Shared(count: 5_000)
      let (taken, rest) = await withTaskGroup(of: ([Int], Range<Int>?).self) { group in
        for thread in 0..<4 {
          group.addTask {
            await onThread {
              var numbers: [Int] = []
              while let (number, _) = shared.cursor.take() {
                numbers.append(number)
                if closes, thread == 0, numbers.count == 300 { return (numbers, shared.cursor.close()) }
              }
              return (numbers, nil)
            }
          }
        }
        return await group.reduce(into: ([Int](), Range<Int>?.none)) { all, part in
          all.0 += part.0
          all.1 = all.1 ?? part.1
        }
      }
      #expect((taken + (rest ?? 0..<0)).sorted() == Array(0..<5_000))
    }
  }
}
