import Foundation

/// Children that can start, by `queuePriority` and then in the order in which they were added.
struct ReadyQueue {
  private struct Bucket {
    var tags = HeadedQueue<Int>()
    /// Their places among the children of several ready queues; empty if there is only one.
    var places = HeadedQueue<Int>()

    /// The number of children with a lower place. Places ascend.
    func count(before place: Int) -> Int {
      let places = places.elements
      var (low, high) = (places.startIndex, places.endIndex)
      while low < high {
        let middle = (low + high) / 2
        if places[middle] < place { low = middle + 1 } else { high = middle }
      }
      return low - places.startIndex
    }
  }

  private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]
  // Made when the first child is added: most queues never have one.
  private var buckets: [Bucket] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The priority of the first child.
  var firstPriority: Operation.QueuePriority? {
    buckets.firstIndex { !$0.tags.isEmpty }.map { ReadyQueue.priorities[$0] }
  }

  /// Whether the first child has a higher priority than most.
  var isUrgent: Bool { buckets.prefix(2).contains { !$0.tags.isEmpty } }

  /// The number of children of higher priority than most.
  var urgentCount: Int { buckets.prefix(2).reduce(0) { $0 + $1.tags.count } }

  /// - Parameter place: its place among the children of this and other ready queues, if there are
  ///   others.
  mutating func append(_ tag: Int, priority: Operation.QueuePriority, place: Int? = nil) {
    // Foundation allows values between the five and rounds them towards normal.
    let index =
      switch priority.rawValue {
      case Operation.QueuePriority.veryHigh.rawValue...: 0
      case Operation.QueuePriority.high.rawValue...: 1
      case (Operation.QueuePriority.low.rawValue + 1)...: 2
      case (Operation.QueuePriority.veryLow.rawValue + 1)...: 3
      default: 4
      }
    if buckets.isEmpty { buckets = Array(repeating: Bucket(), count: ReadyQueue.priorities.count) }
    buckets[index].tags.append(tag)
    if let place { buckets[index].places.append(place) }
    count += 1
  }

  /// The number of children that come before the first one of another queue. All have places.
  func count(beforeFirstOf other: ReadyQueue) -> Int {
    guard !isEmpty, let index = other.buckets.firstIndex(where: { !$0.tags.isEmpty }),
      let first = other.buckets[index].places.elements.first
    else { return count }
    return buckets[..<index].reduce(buckets[index].count(before: first)) { $0 + $1.tags.count }
  }

  mutating func popFirst() -> Int? {
    guard let index = buckets.firstIndex(where: { !$0.tags.isEmpty }) else { return nil }
    count -= 1
    _ = buckets[index].places.popFirst()
    return buckets[index].tags.popFirst()
  }

  var all: [Int] { buckets.flatMap(\.tags.elements) }
}
