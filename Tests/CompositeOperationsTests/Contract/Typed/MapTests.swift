import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: map and mapAsync", .hangLimit)
struct MapTests {
  @Test("map: the transformed value")
  func map_succeeding_transforms() async {
    #expect(await outcomeOfStarting(succeeding(20).map { "\($0)" }).value == "20")
    #expect(await outcomeOfStarting(Doubling(2).map { $0 + 1 }.map { $0 * 10 }).value == 50)
  }

  @Test("map: a failure passes through as its own error, the transform is not called")
  func map_failing_failsWithTheError() async {
    let called = Gate()
    let mapped = failing(TestError.first).map { value in
      called.open()
      return value
    }
    #expect(await outcomeOfStarting(mapped).error as? TestError == .first)
    #expect(!called.isOpen)
  }

  @Test("map: an error that the transform throws is the failure")
  func map_throwing_fails() async {
    let mapped = succeeding(1).map { _ -> Int in throw TestError.second }
    #expect(await outcomeOfStarting(mapped).error as? TestError == .second)
  }

  @Test("map: an upstream that is cancelled from outside cancels it")
  func map_upstreamCancelled_isCancelled() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let mapped = held.map { $0 }
    await onWorker { mapped.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(mapped).isCancelled)
    #expect(mapped.isCancelled)
  }

  @Test("map: cancelling it cancels the upstream and waits for it")
  func map_cancelled_cancelsTheUpstream() async {
    let held = HeldOperation<Int>()
    let mapped = held.map { $0 }
    await onWorker { mapped.start() }
    await held.started.wait()
    mapped.cancel()
    #expect(held.cancelRequested.isOpen)
    #expect(mapped.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(mapped).isCancelled)
  }

  @Test("map: cancelled from inside the transform, its value is discarded")
  func map_cancelledInsideTransform_isCancelled() async {
    let box = Locked<SimpleOperation<Int>?>(nil)
    let mapped = succeeding(1).map { value in
      box.current?.cancel()
      return value
    }
    box.withLock { $0 = mapped }
    #expect(await outcomeOfStarting(mapped).isCancelled)
    box.withLock { $0 = nil }
  }

  @Test("mapAsync: the transformed value")
  func mapAsync_succeeding_transforms() async {
    let mapped = succeeding(20).mapAsync { value in
      await Task.yield()
      return "\(value)"
    }
    #expect(await outcomeOfStarting(mapped).value == "20")
  }

  @Test("mapAsync: a failure passes through as its own error, the transform is not called")
  func mapAsync_failing_failsWithTheError() async {
    let called = Gate()
    let mapped = failing(TestError.first).mapAsync { value async in
      called.open()
      return value
    }
    #expect(await outcomeOfStarting(mapped).error as? TestError == .first)
    #expect(!called.isOpen)
  }

  @Test("mapAsync: an error that the transform throws is the failure")
  func mapAsync_throwing_fails() async {
    let mapped = succeeding(1).mapAsync { _ async throws -> Int in throw TestError.second }
    #expect(await outcomeOfStarting(mapped).error as? TestError == .second)
  }

  @Test("mapAsync: cancelling it cancels the task of the transform")
  func mapAsync_cancelledWhileTransforming_cancelsTheTask() async {
    let started = Gate()
    let mapped = succeeding(1).mapAsync { value in
      started.open()
      try await Gate().waitUnlessCancelled()
      return value
    }
    await onWorker { mapped.start() }
    await started.wait()
    mapped.cancel()
    #expect(await settled(mapped).isCancelled)
    #expect(mapped.isCancelled)
  }

  @Test("mapAsync: cancelling it while the upstream runs cancels the upstream")
  func mapAsync_cancelledWhileUpstreamRuns_cancelsIt() async {
    let called = Gate()
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let mapped = held.mapAsync { value async in
      called.open()
      return value
    }
    await onWorker { mapped.start() }
    await held.started.wait()
    mapped.cancel()
    #expect(await settled(mapped).isCancelled)
    #expect(!called.isOpen)
    #expect(held.isCancelled)
  }
}
