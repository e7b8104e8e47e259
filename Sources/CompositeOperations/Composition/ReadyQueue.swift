import Foundation

/// Children that can start, by `queuePriority` and then in the order in which they were added.
struct ReadyQueue {
  private struct Bucket {
    var tags: [Int] = []
    var head = 0
  }

  private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]
  private var buckets = [Bucket](repeating: Bucket(), count: priorities.count)
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The priority of the first.
  var firstPriority: Operation.QueuePriority? {
    buckets.firstIndex { $0.head < $0.tags.count }.map { ReadyQueue.priorities[$0] }
  }

  mutating func append(_ tag: Int, priority: Operation.QueuePriority) {
    // Foundation allows values between the five and rounds them towards normal.
    let index =
      switch priority.rawValue {
      case Operation.QueuePriority.veryHigh.rawValue...: 0
      case Operation.QueuePriority.high.rawValue...: 1
      case (Operation.QueuePriority.low.rawValue + 1)...: 2
      case (Operation.QueuePriority.veryLow.rawValue + 1)...: 3
      default: 4
      }
    buckets[index].tags.append(tag)
    count += 1
  }

  mutating func popFirst() -> Int? {
    guard let index = buckets.firstIndex(where: { $0.head < $0.tags.count }) else { return nil }
    let tag = buckets[index].tags[buckets[index].head]
    buckets[index].head += 1
    if buckets[index].head == buckets[index].tags.count { buckets[index] = Bucket() }
    count -= 1
    return tag
  }

  /// Everything in it, in order, leaving it empty.
  mutating func removeAll() -> [Int] {
    defer { self = ReadyQueue() }
    return all
  }

  var all: [Int] { buckets.flatMap { $0.tags[$0.head...] } }
}
