import TestSupport
import Testing

@testable import CompositeOperations

/// Handing children out and counting those that are done, from one cursor and from segments.
@Suite("3.4 Dispenser", .hangLimit)
struct DispenserTests {
  /// Enough for segments, and the last of them is not full.
  private static let many = 5_003

  private final class Shared: @unchecked Sendable {  // opened before it is shared
    @exclusivity(unchecked) private var dispenser: Dispenser

    init(count: Int, segmented: Bool) {
      dispenser = Dispenser(count: count)
      dispenser.open(segmented: segmented)
    }

    var doneCount: Int { dispenser.doneCount }
    func take(at place: inout Dispenser.Place) -> (number: Int, more: Bool)? { dispenser.take(at: &place) }
    func close() -> [Range<Int>]? { dispenser.close() }
    func countDone(_ tag: Int) -> Bool { dispenser.countDone(tag) }
    func countExactly() -> Bool { dispenser.countExactly() }

    /// Takes until nothing is left, as a worker does.
    func takeAll(_ body: (_ tag: Int, _ more: Bool) -> Bool) {
      var place = Dispenser.Place()
      while true {
        if let (tag, more) = dispenser.take(at: &place) {
          guard body(tag, more) else { return }
        } else {
          guard place.isOwn else { return }
          place = Dispenser.Place()
        }
      }
    }
  }

  @Test("One thread gets each child once and in order, the last with nothing more", arguments: [0, 1, 40, many])
  func take_oneThread_isInOrder(count: Int) {
    for segmented in [false, true] {
      let shared = Shared(count: count, segmented: segmented)
      var taken: [Int] = []
      shared.takeAll { tag, more in
        #expect(more == (tag + 1 < count))
        taken.append(tag)
        return true
      }
      #expect(taken == Array(0..<count))
      #expect(shared.close() == [])
      #expect(shared.close() == nil)
    }
  }

  @Test("The rest of a thread's segment is left for the others")
  func take_ofAnothersPlace_whenNothingElseIsLeft() {
    let shared = Shared(count: Self.many, segmented: true)
    var own = Dispenser.Place()
    #expect(shared.take(at: &own)?.number == 0)
    var others: [Int] = []
    shared.takeAll { tag, more in
      others.append(tag)
      #expect(more == (others.count < Self.many - 1))
      return true
    }
    #expect(others.sorted() == Array(1..<Self.many))
    #expect(shared.take(at: &own) == nil)
  }

  @Test("Closed at any point it returns the children not taken, and hands out no more")
  func close_midway_givesTheRest() {
    for (own, others) in [(0, 0), (1, 0), (3, 20), (16, 4_000), (5, 4_991), (16, 4_987)] {
      let shared = Shared(count: Self.many, segmented: true)
      var place = Dispenser.Place()
      var taken = (0..<own).compactMap { _ in shared.take(at: &place)?.number }
      var left = others
      shared.takeAll { tag, _ in
        if left > 0 { taken.append(tag) }
        left -= 1
        return left > 0
      }
      let rest = shared.close() ?? []
      #expect(Set(rest.joined()).isDisjoint(with: taken))
      #expect((taken + rest.joined()).count == Self.many + (others == 0 ? -1 : 0))
      #expect(shared.close() == nil)
      #expect(shared.take(at: &place) == nil)
      shared.takeAll { tag, _ in
        Issue.record("\(tag) was taken after the close")
        return true
      }
    }
  }

  @Test("Four threads get each child once; no thread gets a child that another one closed", arguments: [true, false])
  func take_fourThreads_handsOutEachOnce(closes: Bool) async {
    for _ in 0..<20 {
      let shared = Shared(count: Self.many, segmented: true)
      let rest = Locked<[Range<Int>]>([])
      let taken = await withTaskGroup(of: [Int].self) { group in
        for thread in 0..<4 {
          group.addTask {
            await onThread {
              var numbers: [Int] = []
              shared.takeAll { tag, _ in
                numbers.append(tag)
                guard closes, thread == 0, numbers.count == 300 else { return true }
                let closed = shared.close() ?? []
                rest.withLock { $0 = closed }
                return false
              }
              return numbers
            }
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect((taken + rest.current.joined()).sorted() == Array(0..<Self.many))
    }
  }

  @Test("Exactly one count is the last, in whatever order children end", arguments: [7, many])
  func countDone_shuffled_oneIsLast(count: Int) {
    let shared = Shared(count: count, segmented: true)
    let lasts = (0..<count).shuffled().enumerated().filter { shared.countDone($0.element) }
    #expect(lasts.map(\.offset) == [count - 1])
    #expect(shared.doneCount == count)
    #expect(!shared.countExactly())
  }

  @Test(
    "Asked for it midway the count is exact from then on; or says that all are done",
    arguments: [0, 1, 20, 2_500, many])
  func countExactly_midway_isExact(before: Int) {
    let shared = Shared(count: Self.many, segmented: true)
    let order = (0..<Self.many).shuffled()
    var lasts = order[..<before].count { shared.countDone($0) }
    if shared.countExactly() { lasts += 1 }
    #expect(shared.doneCount == before)
    for (number, tag) in order[before...].enumerated() {
      if shared.countDone(tag) { lasts += 1 }
      #expect(shared.doneCount == before + number + 1)
    }
    #expect(lasts == 1)
  }

  @Test("Counted by four threads while it becomes exact, one of all is the last")
  func countExactly_racing_oneIsLast() async {
    for _ in 0..<50 {
      let shared = Shared(count: Self.many, segmented: true)
      let lasts = Locked(0)
      await withTaskGroup(of: Void.self) { group in
        for thread in 0..<4 {
          group.addTask {
            await onThread {
              for tag in stride(from: thread, to: Self.many, by: 4) where shared.countDone(tag) {
                lasts.increment()
              }
            }
          }
        }
        group.addTask {
          await onThread { if shared.countExactly() { lasts.increment() } }
        }
      }
      #expect(lasts.current == 1)
      #expect(shared.doneCount == Self.many)
    }
  }
}
