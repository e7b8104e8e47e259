import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.3 run() and OperationQueue.run", .hangLimit)
struct RunTests {
  @Test("3.1.3 run() starts a pending operation and returns its value")
  func run_whenPending_startsAndReturns() async throws {
    #expect(try await succeeding(4).run() == 4)
    #expect(try await Doubling(4).run() == 8)
  }

  @Test("3.1.3 run() throws the operation's error, and CancellationError for a cancelled one")
  func run_whenNotSuccessful_throws() async {
    await #expect(throws: TestError.first) { try await failing(TestError.first).run() }
    await #expect(throws: CancellationError.self) { try await cancelling().run() }
    let cancelled = succeeding(1)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.run() }
  }

  @Test("3.1.3 run() on a settled operation returns its outcome")
  func run_whenSettled_returnsItsOutcome() async throws {
    let succeeded = succeeding(4)
    succeeded.start()
    #expect(try await succeeded.run() == 4)
    #expect(try await succeeded.run() == 4)
    let failed = failing(TestError.first)
    failed.start()
    await #expect(throws: TestError.first) { try await failed.run() }
    let settledBeforeStart = HeldOperation<Int>()
    settledBeforeStart.finish(with: 6)
    #expect(try await settledBeforeStart.run() == 6)
    #expect(!settledBeforeStart.started.isOpen)
  }

  @Test("3.1.3 run() on an executing operation waits for it")
  func run_whileExecuting_waits() async throws {
    let operation = HeldOperation<Int>()
    operation.start()
    async let value = operation.run()
    operation.finish(with: 4)
    #expect(try await value == 4)
  }

  @Test("3.1.3 run() on a queued operation waits for it; the queue runs it")
  func run_whileQueued_waits() async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    queue.addOperation(operation)
    let value = Task { try await operation.run() }
    await Patience.untilAwaited(operation)
    queue.isSuspended = false
    #expect(try await value.value == 4)
    #expect(ranIn.current === queue)
  }

  @Test("3.1.3 run() by several tasks at once runs main once and gives each the value")
  func run_byMany_givesEachTheValue() async throws {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { $0.finish(with: runs.increment()) }
    let values = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await operation.run() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values == Array(repeating: 1, count: 50))
  }

  @Test("3.1.3 OperationQueue.run adds a pending operation to the queue and waits")
  func queueRun_whenPending_runsInTheQueue() async throws {
    let queue = OperationQueue()
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    #expect(try await queue.run(operation) == 4)
    #expect(ranIn.current === queue)
  }

  @Test("3.1.3 OperationQueue.run on a settled operation returns its outcome")
  func queueRun_whenSettled_returnsItsOutcome() async throws {
    let queue = OperationQueue()
    let succeeded = succeeding(4)
    succeeded.start()
    #expect(try await queue.run(succeeded) == 4)
    let failed = failing(TestError.first)
    failed.start()
    await #expect(throws: TestError.first) { try await queue.run(failed) }
  }

  @Test("3.1.3 OperationQueue.run on an executing operation waits for it")
  func queueRun_whileExecuting_waits() async throws {
    let queue = OperationQueue()
    let operation = HeldOperation<Int>()
    operation.start()
    async let value = queue.run(operation)
    operation.finish(with: 4)
    #expect(try await value == 4)
  }

  @Test("3.1.3 OperationQueue.run on an operation that is queued there already waits for it")
  func queueRun_whileQueuedInIt_waits() async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let operation = succeeding(4)
    queue.addOperation(operation)
    async let value = queue.run(operation)
    queue.isSuspended = false
    #expect(try await value == 4)
  }

  @Test("3.1.3 OperationQueue.run on an operation that is queued elsewhere waits for it")
  func queueRun_whileQueuedElsewhere_waits() async throws {
    let other = OperationQueue(limit: 1, suspended: true)
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    other.addOperation(operation)
    let value = Task { try await OperationQueue().run(operation) }
    for _ in 0..<100 { await Task.yield() }
    other.isSuspended = false
    #expect(try await value.value == 4)
    #expect(ranIn.current === other)
  }

  @Test("3.1.3 OperationQueue.run of one operation by many tasks never traps")
  func queueRun_byMany_givesEachTheValue() async throws {
    let queue = OperationQueue()
    for _ in 0..<50 {
      let operation = succeeding(4)
      let values = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await queue.run(operation) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(values == Array(repeating: 4, count: 8))
    }
  }

  #if os(macOS) || os(Linux)
  @Test("3.1.3 OperationQueue.run returns the outcome of an operation that settles before it is added, and never traps")
  func queueRun_settledBeforeItIsAdded_returnsItsOutcome() async {
    await #expect(processExitsWith: .success) {
      let value = try await LateQueue().run(HeldOperation<Int>())
      precondition(value == 1)
    }
  }

  @Test("3.1.3 OperationQueue.run of a cancelled operation, while a barrier waits in the queue")
  func queueRun_cancelledBehindABarrier_ends() async {
    let (queue, held, cancelled) = (OperationQueue(), HeldOperation<Int>(), succeeding(1))
    queue.addOperation(held)
    await held.started.wait()
    queue.addBarrierBlock {}
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await queue.run(cancelled) }
    held.finish(with: 1)
    await finished(held)
  }

  @Test("3.1.3 OperationQueue.run of an operation whose dependency finishes while the queue takes it")
  func queueRun_dependencyFinishesMeanwhile_isNotMissed() async throws {
    let dependency = BlockOperation {}
    let operation = Asked { dependency.start() }
    operation.addDependency(dependency)
    operation.isAsked.withLock { $0 = false }
    #expect(try await OperationQueue().run(operation) == 1)
  }

  /// An operation that calls a closure the first time that it is asked whether it is ready.
  private final class Asked: Operation, ComposableOperation, @unchecked Sendable {  // immutable
    let isAsked = Locked(true)
    private let whenAsked: @Sendable () -> Void

    init(_ whenAsked: @escaping @Sendable () -> Void) { self.whenAsked = whenAsked }

    var outcome: Outcome<Int>? { isFinished ? .success(1) : nil }

    override var isReady: Bool {
      let isReady = super.isReady
      let isFirst = isAsked.withLock { isAsked in
        defer { isAsked = true }
        return !isAsked
      }
      if isFirst { whenAsked() }
      return isReady
    }
  }

  @Test("3.1.3 run() waits for a dependency that is added just before the operation starts")
  func run_dependencyAddedJustBeforeTheStart_isAwaited() async {
    await #expect(processExitsWith: .success) {
      let operation = DependingLate()
      let task = Task { try await operation.run() }
      await until(!operation.dependencies.isEmpty)
      await settleDown()
      precondition(!operation.isExecuting && !operation.isFinished)
      operation.dependency.start()
      operation.dependency.finish(with: 1)
      let value = try await task.value
      precondition(value == 2)
    }
  }
  #endif
}

/// Gets its dependency when `run()` has found none, and dispatches it.
private final class DependingLate: SimpleOperation<Int>, @unchecked Sendable {
  let dependency = HeldOperation<Int>()
  private let isAsked = Locked(false)

  override var qualityOfService: QualityOfService {
    get {
      let isFirst = isAsked.withLock { isAsked in
        defer { isAsked = true }
        return !isAsked
      }
      if isFirst { addDependency(dependency) }
      return super.qualityOfService
    }
    set { super.qualityOfService = newValue }
  }

  override func perform() -> Int { 2 }
}

/// A queue to which each operation is added too late: other code has settled it.
private final class LateQueue: OperationQueue, @unchecked Sendable {
  override func addOperation(_ operation: Operation) {
    (operation as? HeldOperation<Int>)?.finish(with: 1)
    super.addOperation(operation)
  }
}
