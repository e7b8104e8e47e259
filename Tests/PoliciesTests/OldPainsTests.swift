import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The worst problems of older operation frameworks do not occur here, by the numbers of the list
/// that guided the package. (Pain 1 is with the conditions, pain 7 is the leak tests.)
@Suite("Pains of older frameworks", .hangLimit)
struct OldPainsTests {
  @Test("Pain 5: groups that exclude each other, and want the same inside, end at any queue limit", arguments: 1...3)
  func exclusiveGroups_whoseChildrenWantTheSame_end(limit: Int) async {
    let registry = ExclusionRegistry()
    let gauge = ConcurrencyGauge()
    let queue = OperationQueue(limit: limit)
    let groups = (0..<20).map { _ in
      let children = (0..<4).map { _ in
        SimpleOperation<Void> { operation in
          gauge.enter()
          gauge.leave()
          operation.finish()
        }.exclusive("account", in: registry)
      }
      let inner = CompositeOperation(operations: children, operationQueue: queue)
      return inner.exclusive("account", "sign-in", in: registry)
    }
    let all = CompositeOperation(operations: groups, operationQueue: queue)
    #expect(await outcomeOfStarting(all).value?.count == 20)
    #expect(gauge.maximum <= limit)
  }

  @Test("Pain 6: a cancelled operation finishes and leaves its queue, whatever policy it waits for")
  func cancel_whileAnyPolicyWaits_finishesAndLeavesTheQueue() async {
    let clock = ManualClock()
    let registry = ExclusionRegistry()
    let never = NeverFinishingOperation<Int>()
    let held = NeverFinishingOperation<Int>()
    let holder = held.exclusive("x", in: registry)
    holder.start()
    await held.started.wait()
    let waiting: [SimpleOperation<Int>] = [
      SimpleOperation { $0.finish(with: 1) }.exclusive("x", in: registry),
      SimpleOperation { $0.finish(with: 1) }.condition(
        Condition("never known") { _ in
          try await clock.sleep(until: .init(offset: .seconds(100)))
          return true
        }),
      retrying(RetryPolicy(backoff: .constant(.seconds(100)), jitter: .none), clock: clock) { _ in
        SimpleOperation<Int> { $0.reject(with: TestError.first) }
      },
      never.timeout(.seconds(100), .waitsForWork, clock: clock),
      DelayOperation(.seconds(100), clock: clock).map { 1 },
    ]
    let queue = OperationQueue(limit: waiting.count)
    queue.add(waiting)
    await never.started.wait()
    queue.cancelAllOperations()
    for operation in waiting { #expect(await settled(operation).isCancelled) }
    await onThread { queue.waitUntilAllOperationsAreFinished() }
    holder.cancel()
    #expect(await settled(holder).isCancelled)
    await clock.waitUntilIdle()
  }

  @Test("Pain 11: a task that is cancelled before, while or after it awaits a policy throws, and the work is cancelled")
  func task_cancelledWhileAwaitingAPolicy_cancelsIt() async {
    let before = NeverFinishingOperation<Int>()
    let gate = Gate()
    let early = Task {
      await gate.wait()
      return try await before.timeout(.seconds(100), clock: ManualClock()).run()
    }
    early.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await early.value }
    #expect(await settled(before).isCancelled)

    let during = NeverFinishingOperation<Int>()
    let late = Task { try await during.exclusive("x", in: ExclusionRegistry()).run() }
    await during.started.wait()
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(await settled(during).isCancelled)
  }

  @Test("Pain 19: one end, in one order: hooks, completion, observers, then the composite around, each once")
  func end_ofACancelledOperation_isToldOnceAndInOrder() async {
    let told = EventRecorder<String>()
    let child = HeldOperation<Int>()
    child.onCancel = { told.record("hook") }
    child.completion = { told.record("completion: \($0.isCancelled)") }
    child.addObserver { event in
      switch event.kind {
      case .started, .cancelled: told.record("\(event.kind)")
      case .settled: told.record("settled: \(event.outcome?.isCancelled == true)")
      default: break
      }
    }
    let around = CompositeOperation(operations: [child])
    around.addObserver { event in if event.kind == .settled { told.record("around") } }
    around.start()
    await child.started.wait()
    around.cancel()
    child.finish(with: 1)
    #expect(await settled(around).isCancelled)
    await told.wait { $0.contains("around") }
    #expect(told.events == ["started", "cancelled", "hook", "completion: true", "settled: true", "around"])
  }
}
