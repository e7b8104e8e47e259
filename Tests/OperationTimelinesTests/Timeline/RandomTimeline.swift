import CompositeOperations
import TestSupport

@testable import OperationTimelines

/// Timelines of any shape, for what must hold for all of them.
enum RandomTimeline {
  /// Every entry inside of its parent, as recorders make them, with few different instants, so that
  /// many are the same.
  static func nested(seed: UInt64, count: Int = 30) -> Timeline {
    var random = SeededRandomNumberGenerator(seed: seed)
    var entries: [Timeline.Entry] = []
    for index in 0..<count {
      let parent = index == 0 || random.chance(5) ? nil : random.number(1...index)
      let around = parent.map { entries[$0 - 1] }
      let from = Int((around?.started ?? around?.queued ?? .zero).nanoseconds)
      let to = Int((around?.settled ?? .nanoseconds(from + 40)).nanoseconds)
      let instants = (0..<3).map { _ in random.number(from...max(from, to)) }.sorted()
      entries.append(
        Timeline.Entry(
          id: index + 1, parent: parent, name: random.chance(50) ? "operation \(index)" : nil,
          type: "Type<\(index % 3)>",
          kind: random.pick([.operation, .plain, .parallel, .sequence, .then]), queued: .nanoseconds(instants[0]),
          started: random.chance(10) ? nil : .nanoseconds(instants[1]), settled: .nanoseconds(instants[2]),
          ending: random.pick([.success, .failure(message: "it \"failed\"\n</script>"), .cancelled]),
          thread: random.chance(10) ? nil : Timeline.Thread(number: random.number(1...3)),
          attempt: random.number(1...2), tag: index))
      if random.chance(10) {
        entries[index].settled = nil
        entries[index].ending = nil
      }
    }
    return Timeline(entries: entries)
  }

  /// Whatever a program may put together: numbers twice, parents that are not there, or in a
  /// circle, times backwards.
  static func senseless(seed: UInt64, count: Int = 20) -> Timeline {
    var random = SeededRandomNumberGenerator(seed: seed)
    func instant() -> Duration { .nanoseconds(random.number(-50...50)) }
    return Timeline(
      entries: (0..<count).map { index in
        Timeline.Entry(
          id: random.number(1...count), parent: random.chance(20) ? nil : random.number(0...count + 2),
          queued: instant(), started: random.chance(20) ? nil : instant(), settled: random.chance(20) ? nil : instant(),
          ending: random.pick([nil, .success, .failure(message: ""), .cancelled]), attempt: random.number(-1...3),
          tag: index)
      }, end: random.chance(50) ? nil : instant())
  }
}
