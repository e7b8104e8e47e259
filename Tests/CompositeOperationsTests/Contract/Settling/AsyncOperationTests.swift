import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.6 AsyncOperation", .hangLimit)
struct AsyncOperationTests {
  @Test("3.1.6 It succeeds with what its work returns")
  func work_returning_succeeds() async throws {
    let operation = AsyncOperation<String> {
      await Task.yield()
      return "done"
    }
    #expect(try await operation.run() == "done")
    #expect(operation.result == "done")
  }

  @Test("3.1.6 It fails with what its work throws")
  func work_throwing_fails() async {
    let operation = AsyncOperation<Int> { throw TestError.first }
    #expect(await outcomeOfStarting(operation).error as? TestError == .first)
  }

  @Test("3.1.6 cancel cancels its task")
  func cancel_whileExecuting_cancelsTheTask() async {
    let started = Gate()
    let operation = AsyncOperation<Int> {
      started.open()
      try await Gate().waitUnlessCancelled()
      return 1
    }
    operation.start()
    await started.wait()
    operation.cancel()
    #expect(await settled(operation).isCancelled)
    #expect(operation.isCancelled)
  }

  @Test("3.1.6 A cancel from the thread that started it, before the task ran, cancels the task")
  func cancel_rightAfterStart_cancelsTheTask() async {
    for _ in 0..<200 {
      let operation = AsyncOperation<Int> {
        try await Gate().waitUnlessCancelled()
        return 1
      }
      operation.start()
      operation.cancel()
      #expect(await settled(operation).isCancelled)
    }
  }

  /// An operation whose task waits until it is cancelled, and opens the second gate then.
  private func waiting() -> (operation: AsyncOperation<Int>, started: Gate, stopped: Gate) {
    let (started, stopped) = (Gate(), Gate())
    let operation = AsyncOperation<Int> {
      started.open()
      defer { stopped.open() }
      try await Gate().waitUnlessCancelled()
      return 1
    }
    return (operation, started, stopped)
  }

  static let endings: [Outcome<Int>] = [
    .success(5), .failure(TestError.first), .failure(CancellationError()), .cancelled,
  ]

  @Test("3.1.6 Settled by other code, it cancels its task", arguments: endings.indices)
  func settle_whileExecuting_cancelsTheTask(index: Int) async {
    let (operation, started, stopped) = waiting()
    operation.start()
    await started.wait()
    #expect(operation.settle(with: AsyncOperationTests.endings[index]))
    await stopped.wait()
    #expect(operation.isFinished && operation.outcome?.value == AsyncOperationTests.endings[index].value)
  }

  @Test("3.1.6 Settled right after its start, before the task ran, it cancels its task")
  func settle_rightAfterStart_cancelsTheTask() async {
    for _ in 0..<200 {
      let (operation, _, stopped) = waiting()
      await withTaskGroup { group in
        group.addTask { operation.start() }
        group.addTask {
          await until(operation.isExecuting)
          operation.finish(with: 5)
        }
      }
      await stopped.wait()
      #expect(operation.result == 5)
    }
  }

  @Test("3.1.6 Settled by its own closure while it starts, with a long completion, it cancels its task")
  func settle_insideTheClosureWhileStarting_cancelsTheTask() async {
    for _ in 0..<200 {
      let (hasStarted, stopped) = (DispatchSemaphore(value: 0), Gate())
      let owner = EventRecorder<AsyncOperation<Int>>()
      let operation = AsyncOperation<Int> {
        defer { stopped.open() }
        owner.events[0].finish(with: 5)
        try await Gate().waitUnlessCancelled()
        return 1
      }
      operation.completion = { _ in hasStarted.wait() }
      owner.record(operation)
      await onWorker {
        operation.start()
        hasStarted.signal()
      }
      await stopped.wait()
      #expect(operation.result == 5)
    }
  }

  @Test("3.1.6 A task that settles its operation is not cancelled by that", arguments: [false, true])
  func work_returning_isNotCancelled(fails: Bool) async {
    for _ in 0..<200 {
      let wasCancelled = EventRecorder<Bool>()
      let operation = AsyncOperation<Int> {
        if fails { throw TestError.first }
        return 1
      }
      operation.completion = { _ in wasCancelled.record(Task.isCancelled) }
      _ = await outcomeOfStarting(operation)
      #expect(wasCancelled.events == [false])
    }
  }

  /// What contains an operation, and settles with its value.
  static let containers: [@Sendable (SimpleOperation<Int>) -> SimpleOperation<Int>] = [
    { $0.map { $0 } }, { $0.then { value in SimpleOperation { value } } }, { $0.mapAsync { $0 } },
    { $0.recover { _ in SimpleOperation { 0 } } }, { $0.settled().map { try $0.get() } },
    { zip($0, HeldOperation<Int>(settlesWhenCancelled: true)).map { $0.0 } }, { all([$0]).map { $0[0] } },
    { allSettled([$0]).map { try $0[0].get() } }, { firstSuccess(of: [$0]) },
    { operation in forEach([0], maxConcurrent: 1) { _ in operation }.map { $0[0] } },
    { $0.timeout(.seconds(1), clock: ManualClock()) }, { $0.exclusive("settled by others") },
    { $0.limited(by: SharedLimit(maxConcurrent: 1)) },
    { operation in succeeding(1).mapAsync { _ in try await operation.run() } },
  ]

  @Test("3.1.6 What contains it is settled by other code: it cancels the task", arguments: containers.indices)
  func settle_ofContainer_cancelsTheTask(index: Int) async {
    let (operation, started, stopped) = waiting()
    let container = AsyncOperationTests.containers[index](operation)
    await onWorker { container.start() }
    await started.wait()
    #expect(container.finish(with: 5))
    await stopped.wait()
    #expect(container.result == 5)
  }

  @Test("3.1.6 A thrown CancellationError is .cancelled, without any cancel")
  func work_throwingCancellationError_isCancelled() async {
    let operation = AsyncOperation<Int> { throw CancellationError() }
    #expect(await outcomeOfStarting(operation).isCancelled)
    #expect(operation.isCancelled)
  }

  @Test("3.1.6 Work that ignores a cancel keeps it executing, and its value is discarded")
  func cancel_ofWorkThatIgnoresIt_discardsResult() async {
    let started = Gate()
    let gate = Gate()
    let operation = AsyncOperation<Int> {
      started.open()
      await gate.wait()
      return 1
    }
    operation.start()
    await started.wait()
    operation.cancel()
    #expect(operation.isExecuting)
    #expect(operation.outcome == nil)
    gate.open()
    #expect(await settled(operation).isCancelled)
  }

  @Test("3.1.6 Work that throws another error after a cancel is .cancelled")
  func cancel_ofWorkThatThrows_isCancelled() async {
    let started = Gate()
    let gate = Gate()
    let operation = AsyncOperation<Int> {
      started.open()
      await gate.wait()
      throw TestError.first
    }
    operation.start()
    await started.wait()
    operation.cancel()
    gate.open()
    #expect(await settled(operation).isCancelled)
  }

  @Test("3.1.6 Cancelled before it started, its work never runs")
  func cancel_beforeStart_workNeverRuns() async {
    let ran = Gate()
    let operation = AsyncOperation<Int> {
      ran.open()
      return 1
    }
    operation.cancel()
    operation.start()
    #expect(await settled(operation).isCancelled)
    #expect(!ran.isOpen)
  }

  @Test("3.1.6 onCancel is called too, once")
  func cancel_whileExecuting_callsOnCancel() async {
    let calls = Locked(0)
    let started = Gate()
    let operation = AsyncOperation<Int> {
      started.open()
      try await Gate().waitUnlessCancelled()
      return 1
    }
    operation.onCancel = { calls.increment() }
    operation.start()
    await started.wait()
    operation.cancel()
    _ = await settled(operation)
    operation.cancel()
    #expect(calls.current == 1)
  }

  @Test("3.1.6 It settles early when other code settles it")
  func finish_fromOutside_wins() async {
    let gate = Gate()
    let operation = AsyncOperation<Int> {
      await gate.wait()
      return 1
    }
    operation.start()
    #expect(operation.finish(with: 2))
    gate.open()
    #expect(await settled(operation).value == 2)
  }

  @Test("3.1.6 Its name and the priority of its task are the given ones")
  func init_withNameAndPriority_usesThem() async throws {
    let operation = AsyncOperation<TaskPriority>(name: "fetch", priority: .low) { Task.currentPriority }
    #expect(operation.name == "fetch")
    #expect(await outcomeOfStarting(operation).value == .low)
    #expect(AsyncOperation<Void> {}.name == nil)
  }

  @Test("3.1.6 start() returns while the work continues, so it may be started anywhere")
  func start_returns_whileWorkGoesOn() async {
    let gate = Gate()
    let operation = AsyncOperation<Int> {
      await gate.wait()
      return 1
    }
    operation.start()
    #expect(operation.isExecuting)
    gate.open()
    #expect(await settled(operation).value == 1)
  }
}
