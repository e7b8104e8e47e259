import CompositeOperations
import Foundation
import Synchronization

/// A sequence of `remaining` steps, each made when it is asked for.
struct CountedSequence: CompositeOperation.Sequence {
  var remaining: Int

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    return emptyOperation()
  }
}

/// A sequence whose steps return a number, so that it has values to keep.
struct NumberSequence: CompositeOperation.Sequence {
  var next = 0
  let end: Int

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard next < end else { return nil }
    let number = next
    next += 1
    return SimpleOperation<Int> { $0.finish(with: number) }
  }
}

/// What the sequences of one measurement share.
final class BusySteps: Sendable {
  let count = Atomic(0)
  let isOver = Atomic(false)
  let work = Workload(microseconds: 50)
}

/// A sequence of steps that keep a core busy until it is stopped.
struct BusySequence: CompositeOperation.Sequence {
  let steps: BusySteps

  func nextOperation(after previous: Operation?) -> Operation? {
    guard !steps.isOver.load(ordering: .relaxed) else { return nil }
    return SimpleOperation<Void> { [steps] operation in
      steps.work.run()
      steps.count.add(1, ordering: .relaxed)
      operation.finish()
    }
  }
}

/// The package's side of the rows about sequential composites.
enum Sequential {
  /// Runs `count` simple operations one after the other and returns when the sequence has finished.
  static func run(_ count: Int) {
    finish(CompositeOperation(sequence: CountedSequence(remaining: count)))
  }

  /// How many steps of four endless sequences pass while a trivial operation is awaited.
  static func stepsBeforeRun(tries: Int) async -> [Int] {
    let steps = BusySteps()
    let sequences = (0..<4).map { _ in CompositeOperation(sequence: BusySequence(steps: steps)) }
    for sequence in sequences { sequence.start() }
    var counts: [Int] = []
    for _ in 0..<tries {
      try? await Task.sleep(for: .milliseconds(10))
      let before = steps.count.load(ordering: .relaxed)
      await finish(SimpleOperation<Void> { $0.finish() })
      counts.append(steps.count.load(ordering: .relaxed) - before)
    }
    steps.isOver.store(true, ordering: .relaxed)
    for sequence in sequences { _ = try? await sequence.value }
    return counts
  }
}

/// The package's side of the rows about single operations.
enum Single {
  /// Adds `count` simple operations to a queue at once and returns when all have finished.
  static func run(_ count: Int, in queue: OperationQueue) {
    queue.addOperations((0..<count).map { _ in emptyOperation() }, waitUntilFinished: true)
  }

  /// Adds `count` simple operations to a queue, each after the one before it has finished.
  static func runOneByOne(_ count: Int, in queue: OperationQueue) {
    for _ in 0..<count {
      let operation = emptyOperation()
      queue.addOperation(operation)
      operation.waitUntilFinished()
    }
  }

  /// Awaits `run()` of `count` simple operations one after the other.
  static func awaitOneByOne(_ count: Int) async {
    for number in 0..<count {
      let value = try? await SimpleOperation<Int> { $0.finish(with: number) }.run()
      precondition(value == number)
    }
  }
}
