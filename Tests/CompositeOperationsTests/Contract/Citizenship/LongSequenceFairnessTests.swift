import CompositeOperations
import Foundation
import TestSupport
import Testing

#if os(macOS) || os(Linux)
/// An operation started beside long sequences of synchronous steps begins soon. Counts steps, not
/// time; in a process of its own, without the work of other tests.
@Suite("3.4 No operation starves beside long sequences", .hangLimit, .serialized)
struct LongSequenceFairnessTests {
  @Test("3.4 Beside four endless sequences a trivial run() ends within 300 steps of 50 µs")
  func run_besideEndlessSequences_endsWithinFewSteps() async {
    await #expect(processExitsWith: .success) {
      let least = try await leastStepsBesideEndlessSequences { nil }
      #expect(least <= 300)
    }
  }

  @Test("3.4 Beside four endless sequences with queues of their own it does, too")
  func run_besideEndlessSequencesInQueues_endsWithinFewSteps() async {
    await #expect(processExitsWith: .success) {
      let least = try await leastStepsBesideEndlessSequences { OperationQueue() }
      #expect(least <= 300)
    }
  }
}

/// How many steps of four sequences pass while a trivial operation runs.
///
/// The best of many tries counts: a busy machine may preempt a thread that the operation needs
/// while the steps continue, but not each time. Without turns, over 30,000 steps pass in each try.
private func leastStepsBesideEndlessSequences(in queue: () -> OperationQueue?) async throws -> Int {
  let steps = Locked(0)
  let isOver = Gate()
  let sequences = (0..<4).map { _ in
    CompositeOperation(sequence: Endless(steps: steps, isOver: isOver), operationQueue: queue())
  }
  for sequence in sequences { sequence.start() }
  while steps.current < 20 { await onWorker {} }
  var least = Int.max
  // Without turns not one of them is good: a busy machine only needs more tries.
  for _ in 0..<200 where least > 300 {
    let before = steps.current
    try await SimpleOperation<Void> { $0.finish() }.run()
    least = min(least, steps.current - before)
  }
  isOver.open()
  for sequence in sequences { #expect(await settled(sequence).value != nil) }
  return least
}

/// Endless steps, until it is stopped.
private struct Endless: CompositeOperation.Sequence {
  let steps: Locked<Int>
  let isOver: Gate

  func nextOperation(after previous: Operation?) -> Operation? {
    guard !isOver.isOpen else { return nil }
    return SimpleOperation<Void> { operation in
      let end = processorMicroseconds() + 50
      while processorMicroseconds() < end {}
      steps.increment()
      operation.finish()
    }
  }
}

/// The processor time of this thread.
private func processorMicroseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
}
#endif
