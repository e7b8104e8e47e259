import CompositeOperations
import Foundation
import Synchronization
import TestSupport
import Testing

/// Sequences of a million steps: none costs stack, and none is kept.
@Suite("3.4 Iterative everywhere: sequences", .serialized)
struct LongSequenceTests {
  /// How the steps of a sequence settle.
  enum StepKind: CaseIterable, Sendable {
    case inMain, composite, elsewhere

    /// How many steps are affordable.
    var count: Int {
      switch self {
      case .inMain: Scale.count(1_000_000, least: 10_000)
      case .composite, .elsewhere: Scale.count(50_000, least: 2_000)
      }
    }

    fileprivate func make(_ body: @escaping @Sendable () -> Void) -> Operation {
      let leaf = SimpleOperation<Void> { operation in
        body()
        if self == .elsewhere {
          DispatchQueue.global().async { operation.finish() }
        } else {
          operation.finish()
        }
      }
      return self == .composite ? CompositeOperation(operations: [leaf]) : leaf
    }
  }

  /// The next step, counted down.
  private struct Countdown: CompositeOperation.Sequence {
    var remaining: Int
    let make: @Sendable () -> Operation

    mutating func nextOperation(after previous: Operation?) -> Operation? {
      guard remaining > 0 else { return nil }
      remaining -= 1
      return make()
    }
  }

  @Test(arguments: StepKind.allCases, [false, true])
  func longSequence_runsInConstantStack(kind: StepKind, onQueue: Bool) async {
    let meter = StackMeter()
    let make: @Sendable () -> Operation = { kind.make { meter.note() } }
    let queue = onQueue ? OperationQueue(limit: 1) : nil
    // In a queue, a lane checks the queue between steps, which costs more.
    let count = onQueue ? max(kind.count / 10, 1_000) : kind.count
    let composite = CompositeOperation(sequence: Countdown(remaining: count, make: make), operationQueue: queue)
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value?.count == count)
    #expect(meter.calls == count)
    #expect(meter.greatestSpread < 128 * 1024)
  }

  @Test func longRetry_untilTheLastAttempt_succeeds() async {
    let attempts = Scale.count(100_000, least: 2_000)
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: attempts) { attempt in
        attempt == attempts ? succeeding(attempt) : failing(TestError.first)
      })
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value as? [Int] == [attempts])
    #expect(composite.childOutcomes.count == attempts)
  }

  @Test func longLinearSequence_keepsTheOrder() async {
    let count = Scale.count(100_000, least: 2_000)
    let composite = CompositeOperation(
      sequence: LinearSequence(
        steps: (0..<count).map { number in
          { previous in
            let sum = previous?.result(as: Int.self) ?? 0
            return succeeding(sum + number)
          }
        }))
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value?.count == count)
    #expect(outcome.value?.last as? Int == (count - 1) * count / 2)
  }

  @Test func endlessSequence_cancelled_ends() async {
    let steps = Atomic(0)
    let started = Gate()
    let composite = CompositeOperation(
      sequence: Countdown(remaining: .max) {
        BlockOperation { if steps.add(1, ordering: .relaxed).newValue == 1_000 { started.open() } }
      })
    composite.start()
    await started.wait()
    composite.cancel()
    let outcome = await settled(composite)
    #expect(outcome.isCancelled)
    let isLast = composite.childOutcomes.last.map { $0 != nil } ?? false
    #expect(isLast)
  }
}

/// Measures how far apart the stacks of calls on one thread are.
private final class StackMeter: Sendable {
  private struct State {
    var calls = 0
    /// The threads are retained, so that no later thread, with another stack, has the identity of
    /// one of them.
    var bounds: [ObjectIdentifier: (thread: Thread, range: ClosedRange<UInt>)] = [:]
  }

  private let state = Locked(State())

  var calls: Int { state.withLock { $0.calls } }

  /// The greatest distance, in bytes, between two calls on the same thread.
  var greatestSpread: UInt {
    state.withLock { $0.bounds.values.map { $0.range.upperBound - $0.range.lowerBound }.max() ?? 0 }
  }

  func note() {
    var local = 0
    let address = withUnsafePointer(to: &local) { UInt(bitPattern: $0) }
    state.withLock { state in
      state.calls += 1
      let thread = Thread.current
      let range = state.bounds[ObjectIdentifier(thread)]?.range ?? address...address
      state.bounds[ObjectIdentifier(thread)] = (
        thread, min(range.lowerBound, address)...max(range.upperBound, address)
      )
    }
  }
}
