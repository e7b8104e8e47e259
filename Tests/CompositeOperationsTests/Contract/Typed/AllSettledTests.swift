import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: allSettled", .hangLimit)
struct AllSettledTests {
  @Test("allSettled: how each ended, in order, whatever the order of finishing")
  func allSettled_mixed_inOrder() async throws {
    let held = (0..<2).map { _ in HeldOperation<Int>() }
    let combined = allSettled([held[0], failing(TestError.first), cancelling(), held[1]])
    await onWorker { combined.start() }
    for (number, operation) in held.enumerated().reversed() {
      await operation.started.wait()
      operation.finish(with: number)
    }
    let outcomes = try #require(await settled(combined).value)
    #expect(outcomes.map { Ending($0) } == [.success, .failure, .cancelled, .success])
    #expect(outcomes.map(\.value) == [0, nil, nil, 1])
    #expect(outcomes[1].error as? TestError == .first)
  }

  @Test("allSettled: of none, an empty array")
  func allSettled_ofNone_succeeds() async {
    #expect(await outcomeOfStarting(allSettled([SimpleOperation<Int>]())).value?.isEmpty == true)
  }

  @Test("allSettled: an operation that another owner cancels leaves the others alone")
  func operation_cancelledFromOutside_leavesTheOthersAlone() async throws {
    let cancelled = HeldOperation<Int>(settlesWhenCancelled: true)
    let other = HeldOperation<Int>()
    let combined = allSettled([cancelled, other])
    await onWorker { combined.start() }
    await cancelled.started.wait()
    await other.started.wait()
    cancelled.cancel()
    #expect(!other.isCancelled)
    other.finish(with: 2)
    let outcomes = try #require(await settled(combined).value)
    #expect(outcomes.map { Ending($0) } == [.cancelled, .success])
  }

  @Test("allSettled: cancelling it cancels what runs and what waits, and it is cancelled")
  func allSettled_cancelled_cancelsEverything() async {
    let operations = (0..<4).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let combined = allSettled(operations, maxConcurrent: 2)
    await onWorker { combined.start() }
    await operations[0].started.wait()
    await operations[1].started.wait()
    combined.cancel()
    #expect(await settled(combined).isCancelled)
    #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
  }

  @Test("allSettled: an operation that is under way, or has settled, is waited for", arguments: [false, true])
  func operation_underWay_isJoined(hasSettled: Bool) async throws {
    let running = HeldOperation<Int>()
    await onWorker { running.start() }
    if hasSettled { running.reject(with: TestError.second) }
    let combined = allSettled([running, running])
    await onWorker { combined.start() }
    if !hasSettled { running.reject(with: TestError.second) }
    let outcomes = try #require(await settled(combined).value)
    #expect(outcomes.map { $0.error as? TestError } == [.second, .second])
  }

  @Test("allSettled: a user's own type that finishes without an outcome counts as failed with missingOutcome")
  func operation_withoutOutcome_isAFailure() async throws {
    let outcomes = try #require(await outcomeOfStarting(allSettled([OutcomelessOperation()])).value)
    #expect((outcomes.first?.error as? OperationError)?.code == .missingOutcome)
  }

  @Test("allSettled: maxConcurrent is held", arguments: 1...3)
  func allSettled_maxConcurrent_isHeld(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let operations = (0..<60).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        if number.isMultiple(of: 2) { throw TestError.first }
        return number
      }
    }
    let values = await outcomeOfStarting(allSettled(operations, maxConcurrent: limit)).value?.compactMap(\.value)
    #expect(values == (0..<60).filter { !$0.isMultiple(of: 2) })
    #expect(gauge.maximum <= limit)
  }

  #if os(macOS) || os(Linux)
  @Test("allSettled: a maxConcurrent of 0 traps with a sentence")
  func maxConcurrent_zero_traps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = allSettled([SimpleOperation<Int>()], maxConcurrent: 0)
    }
    let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(text.contains("maxConcurrent of allSettled was set to 0"), "\(text)")
  }
  #endif

  @Test("settled: a success, a failure and a cancellation are its value", arguments: [0, 1, 2])
  func settled_ofEachEnding_succeedsWithIt(kind: Int) async {
    let operation = [succeeding(1), failing(TestError.first), cancelling()][kind]
    let outcome = await outcomeOfStarting(operation.settled()).value
    #expect(outcome.map { Ending($0) } == [.success, .failure, .cancelled][kind])
  }

  @Test("settled: the operation cancelled from outside is its value; settled itself is not cancelled")
  func operation_cancelledWhileSettledWaits_isItsValue() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let waiting = held.settled()
    await onWorker { waiting.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(waiting).value?.isCancelled == true)
    #expect(!waiting.isCancelled)
  }

  @Test("settled: cancelling it cancels the operation, and it is cancelled")
  func settled_cancelled_cancelsTheOperation() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let waiting = held.settled()
    await onWorker { waiting.start() }
    await held.started.wait()
    waiting.cancel()
    #expect(await settled(waiting).isCancelled)
    #expect(held.isCancelled && held.isFinished)
  }

  @Test("settled: of a composite, in the middle of a chain")
  func settled_ofComposite_inChain() async {
    let composite = CompositeOperation(operations: [succeeding(1), failing(TestError.first)])
    composite.failurePolicy = .waitForAll
    let chain = composite.settled().map { [composite] outcome in outcome.error == nil ? -1 : composite.results.count }
    #expect(await outcomeOfStarting(chain).value == 1)
  }

  @Test("settled: the children of a composite that are settled() cannot fail it")
  func settled_asChild_neverFailsTheComposite() async {
    let composite = CompositeOperation {
      failing(TestError.first).settled()
      cancelling().settled()
      succeeding(3)
    }
    #expect(await outcomeOfStarting(composite).value?.count == 3)
  }
}

/// An operation that finishes without an outcome.
private final class OutcomelessOperation: Operation, ComposableOperation, @unchecked Sendable {  // it stores nothing
  var outcome: Outcome<Int>? { nil }
}
