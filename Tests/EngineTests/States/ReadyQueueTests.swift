import Foundation
import Testing

@testable import CompositeOperations

/// Children that can start, in the order in which they do.
@Suite("3.2 ReadyQueue")
struct ReadyQueueTests {
  private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]

  @Test("A new queue is empty")
  func new_isEmpty() {
    var queue = ReadyQueue()
    #expect(queue.isEmpty)
    #expect(queue.count == 0)
    #expect(queue.firstPriority == nil)
    #expect(queue.popFirst() == nil)
    #expect(queue.all == [])
    #expect(queue.count == 0)
  }

  @Test("Children of one priority come out in the order in which they came", arguments: priorities)
  func pop_onePriority_isFirstInFirstOut(_ priority: Operation.QueuePriority) {
    var queue = ReadyQueue()
    for tag in 0..<5 { queue.append(tag, priority: priority) }
    #expect(queue.firstPriority == priority)
    #expect((0..<5).map { _ in queue.popFirst() } == [0, 1, 2, 3, 4])
    #expect(queue.isEmpty)
  }

  /// All ways to give five children two priorities out of five, and pops in between.
  @Test("Higher priorities come first, whatever the order of appending")
  func pop_anyPriorities_isSortedStably() {
    var complaints: [String] = []
    for code in 0..<3125 {
      var digits = code
      let chosen = (0..<5).map { _ in
        defer { digits /= 5 }
        return digits % 5
      }
      var queue = ReadyQueue()
      for (tag, index) in chosen.enumerated() { queue.append(tag, priority: ReadyQueueTests.priorities[index]) }
      let expected = (0..<5).sorted { (chosen[$0], $0) < (chosen[$1], $1) }
      let all = queue.all
      let priority = queue.firstPriority
      let popped = (0..<5).compactMap { _ in queue.popFirst() }
      if all != expected || popped != expected || !queue.isEmpty
        || priority != ReadyQueueTests.priorities[chosen[expected[0]]]
      {
        complaints.append("\(chosen): \(all), \(popped)")
      }
    }
    #expect(complaints == [])
  }

  @Test("Appending between two pops puts a child behind those of its priority and before lower ones")
  func append_betweenPops_isInItsPlace() {
    var queue = ReadyQueue()
    queue.append(1, priority: .normal)
    queue.append(2, priority: .normal)
    #expect(queue.popFirst() == 1)
    queue.append(3, priority: .normal)
    queue.append(4, priority: .high)
    queue.append(5, priority: .veryLow)
    #expect(queue.count == 4)
    #expect(queue.all == [4, 2, 3, 5])
    #expect(queue.popFirst() == 4)
    #expect(queue.firstPriority == .normal)
    #expect(queue.popFirst() == 2)
    #expect(queue.popFirst() == 3)
    #expect(queue.firstPriority == .veryLow)
  }

  @Test("A hundred thousand children are appended and popped in order, in turn, without the rest being moved")
  func pop_manyChildren_keepsOrder() {
    var queue = ReadyQueue()
    var next = 0
    for tag in 0..<100_000 {
      queue.append(tag, priority: .normal)
      guard tag % 2 == 1 else { continue }
      guard queue.popFirst() == next else { break }
      next += 1
    }
    #expect(next == 50_000)
    #expect(queue.count == 50_000)
    while queue.popFirst() == next { next += 1 }
    #expect(next == 100_000)
    #expect(queue.isEmpty)
  }

  @Test("A queue that is never empty does not grow", arguments: [false, true])
  func pop_neverEmpty_doesNotGrow(hasPlaces: Bool) throws {
    var queue = ReadyQueue()
    for tag in 0..<100_000 {
      queue.append(tag, priority: .normal, place: hasPlaces ? tag : nil)
      if tag >= 500 { #expect(queue.popFirst() == tag - 500) }
    }
    #expect(queue.count == 500)
    for field in ["tags", "places"] {
      let stored = Mirror(reflecting: queue).descendant("buckets", 2, field, "places") as? [Int]
      #expect(try #require(stored).count < 4_000)
    }
  }
}
