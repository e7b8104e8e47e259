import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct RegisterTests {
  private struct Composed: Job { static let kind = "\u{E9}" }
  private struct Decomposed: Job { static let kind = "e\u{301}" }

  /// DUR-16
  @Test(arguments: Engine.available) func kind_registeredTwice_isAnError_andTheFirstStays(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location())
    let first = Gate()
    try await queue.register(Count.self) { _, _ async throws in first.open() }
    let error = #expect(throws: JobError.self) { try queue.register(Count.self) { _, _ async throws in } }
    #expect(error?.code == .registeredTwice && error?.kind == "count")
    #expect(error.map { "\($0)".contains("The kind “count” is registered already") } == true)
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await first.wait()
    await queue.stop()
  }

  /// DUR-21
  @Test(arguments: Engine.available) func kind_unregistered_isNoLongerWaitedFor(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.pollInterval = nil }
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    let id = try await harness.queue.enqueue(Count(number: 1))
    async let idle: Void = harness.queue.waitUntilIdle()
    await harness.queue.hasWaiter()
    // It was asked for the first time before this is.
    #expect(try await harness.queue.counts()[.waiting] == 1)
    #expect(harness.queue.unregister(kind: "count"))
    try await idle
    #expect(try await harness.queue.job(id)?.state == .waiting)
    #expect(!harness.queue.unregister(kind: "count"))
  }

  /// By the error with which it fails.
  @Test(arguments: Engine.available) func kind_registeredAgain_whileAnAttemptEnds_keepsItsLimit(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location()), peak = Peak(), isFirst = Flag()
    let again: @Sendable () -> Void = { [weak queue] in
      guard let queue, !isFirst.isSet else { return }
      isFirst.set()
      queue.unregister(kind: "count")
      do {
        try queue.register(Count.self, maxConcurrent: 1) { _, _ async throws in
          peak.enter()
          for _ in 0..<20 { await Task.yield() }
          peak.leave()
        }
      } catch {
        Issue.record(error)
      }
    }
    try await queue.register(Count.self) { _, _ async throws in throw DescribedFailure(again) }
    queue.start()
    let failed = try await queue.enqueue(Count(number: 0), options: JobOptions(maxAttempts: 1))
    #expect(try await queue.waitUntilSettled(failed)?.state == .dead)
    #expect(isFirst.isSet && queue.core.withLock { $0.state.kinds.values.allSatisfy { $0.running == 0 } })
    try await queue.enqueue(contentsOf: (1...10).map { Count(number: $0) })
    try await queue.waitUntilIdle()
    #expect(peak.peak == 1)
    await queue.stop()
  }

  private final class Caller: Sendable {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    deinit { call() }
  }

  @Test func kind_unregistered_releasesWhatItsClosureHolds_whichMayCallTheQueue() async throws {
    let queue = try DurableQueue(location: .memory), kinds = EventRecorder<[String]>()
    func register() async throws {
      let caller = Caller { [unowned queue] in kinds.record(queue.registeredKinds) }
      try await queue.register(Count.self) { _, _ in
        withExtendedLifetime(caller) {}
        return BlockOperation {}
      }
    }
    try await register()
    #expect(queue.unregister(kind: "count"))
    await kinds.wait(forCount: 1)
    #expect(kinds.events == [[]])
  }

  /// A queue that calls `look` when a durable queue, which has a place in it, is about to claim a
  /// job for the place.
  private final class WatchingQueue: OperationQueue, @unchecked Sendable {  // what is its own is behind a lock
    let look = LockBox<(@Sendable () -> Void)?>(nil)

    override var isSuspended: Bool {
      get {
        if DispatchQueue.getSpecific(key: StoreQueue.current) != nil, operations.contains(where: \.isExecuting) {
          look.withLock { $0.take() }?()
        }
        return super.isSuspended
      }
      set { super.isSuspended = newValue }
    }
  }

  @Test func kind_unregisteredWhileItsJobIsClaimed_jobIsToldAsReturned_withItsKind() async throws {
    let slots = WatchingQueue()
    let harness = try Harness(.memory) {
      $0.operationQueue = slots
      // A network makes another round, which may look while it does not have the place.
      $0.networkMonitor = ManualReachabilityMonitor(isReachable: false)
    }
    let queue = harness.queue, events = queue.events()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    slots.look.withLock { $0 = { [unowned queue] in queue.unregister(kind: Count.kind) } }
    // Before the start, and on this thread: it would make another round, too.
    try enqueueAtOnce(Count(number: 1), in: queue)
    queue.start()
    var told: [JobEvent] = []
    for await event in events {
      told.append(event)
      if event.kind == .returned { break }
    }
    #expect(told.map(\.kind) == [.enqueued, .returned])
    #expect(told.allSatisfy { $0.jobKind == Count.kind })
    await queue.stop()
  }

  private func enqueueAtOnce(_ job: Count, in queue: DurableQueue) throws { try queue.enqueue(job) }

  /// Nothing else is claimed as long as a job waits to run alone.
  @Test(arguments: Engine.available) func kind_unregisteredWhileItsJobWaitsToRunAlone_letsOthersGoOn(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location()) {
      $0.pollInterval = nil
      $0.maxConcurrentOperationCount = 4
    }
    let queue = harness.queue, began = EventRecorder<Int>(), released = Gate()
    try await queue.register(Count.self) { job, _ async throws in
      began.record(job.number)
      await released.wait()
    }
    try await queue.register(Send.self) { _, _ in BlockOperation {} }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await began.wait(forCount: 1)
    try await queue.transaction { db in
      let id = try db.enqueue(Send(text: "alone"))
      try db.execute("UPDATE \(engine.table("jobs")) SET lane = lane | 2 WHERE id = ?", .integer(id.rawValue))
      try db.enqueue(Count(number: 2))
    }
    await queue.hasPumped { $0.waitsToRunAlone }
    #expect(began.events == [1])
    queue.unregister(kind: "send")
    await began.wait(forCount: 2)
    released.open()
    await queue.stop()
  }

  @Test func queue_openedByAnAsyncFunction() async throws {
    try await withDatabaseFile { file in
      let queue = try await DurableQueue.open(location: .file(file))
      #expect(try await queue.enqueue(Count(number: 1)) == JobID(rawValue: 1))
      await #expect { _ = try await DurableQueue.open(location: .existingFile(file.appending(path: "none"))) } throws: {
        ($0 as? DatabaseError)?.code == .notAQueue
      }
    }
  }

  /// DUR-15
  @Test(arguments: Engine.available) func kinds_thatDifferInTheirBytesAlone_areTwo(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let done = EventRecorder<String>()
    try await queue.register(Composed.self) { _, _ async throws in done.record("composed") }
    try await queue.register(Decomposed.self) { _, _ async throws in done.record("decomposed") }
    for _ in 0..<10 {
      try await queue.enqueue(Composed())
      try await queue.enqueue(Decomposed())
    }
    queue.start()
    await done.wait(forCount: 20)
    await queue.stop()
    #expect(done.events.count { $0 == "composed" } == 10)
  }
}
