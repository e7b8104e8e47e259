import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct StopTests {
  @Test(arguments: Engine.available) func grace_letsWorkFinish(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = Gate(), release = Gate()
    try await harness.queue.register(Count.self) { _, _ async throws in
      started.open()
      try await release.waitUnlessCancelled()
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    await started.wait()
    async let stopped: Void = harness.queue.stop(grace: .seconds(10))
    harness.clock.advance(by: .seconds(9))
    release.open()
    await stopped
    #expect(try await harness.queue.job(id)?.state == .done)
    let later = try await harness.queue.enqueue(Count(number: 2))
    #expect(try await harness.queue.job(later)?.state == .waiting)
  }

  @Test(arguments: Engine.available) func graceIsOver_jobsWaitAgainUncharged(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = Gate()
    try await harness.queue.register(Count.self) { _, _ in
      started.open()
      return NeverFinishingOperation<Void>()
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    await started.wait()
    let events = harness.queue.events()
    async let stopped: Void = harness.queue.stop(grace: .seconds(10))
    await harness.clock.waitForSleeper()
    while try await harness.queue.job(id)?.state == .executing, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    await stopped
    let record = try await #require(try harness.queue.job(id))
    #expect(record.state == .waiting)
    #expect(record.attempts == 0 && record.crashes == 0 && record.lastError == nil)
    for await event in events {
      guard event.kind == .returned else { continue }
      #expect(event.jobID == id)
      break
    }
  }

  /// DUR-9
  @Test(arguments: Engine.available) func startedAgainMeanwhile_waitsForWhatRanBefore(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = EventRecorder<Int>(), release = Gate(), stopped = Gate()
    try await harness.queue.register(Count.self) { job, _ async throws in
      started.record(job.number)
      if job.number == 1 { await release.wait() }
    }
    harness.queue.start()
    try await harness.queue.enqueue(Count(number: 1))
    await started.wait(for: 1)
    let stop = Task {
      await harness.queue.stop(grace: .seconds(1_000_000))
      stopped.open()
    }
    await until(harness.queue.core.withLock({ $0.state.phase }) == .stopping)
    harness.queue.start()
    // It runs jobs again, and the stop still waits.
    try await harness.queue.enqueue(Count(number: 2))
    await started.wait(for: 2)
    #expect(!stopped.isOpen)
    release.open()
    await stop.value
    await harness.queue.stop()
  }

  /// A queue that executes a job which ignores its cancellation.
  private func executing(on engine: Engine) async throws -> (Harness, NeverFinishingOperation<Void>) {
    let harness = try Harness(engine.location())
    let operation = NeverFinishingOperation<Void>(holdsOn: true)
    try await harness.queue.register(Count.self) { _, _ in operation }
    harness.queue.start()
    try await harness.queue.enqueue(Count(number: 1))
    await operation.started.wait()
    return (harness, operation)
  }

  @Test(arguments: Engine.available) func startedAgainMeanwhile_stopWithPatience_waitsNoLongerThanThat(
    on engine: Engine
  ) async throws {
    let (harness, operation) = try await executing(on: engine)
    let stop = Task { await harness.queue.stop(grace: .zero, givingUpAfter: .seconds(5)) }
    await operation.cancelRequested.wait()
    await harness.clock.waitForSleeper(dueIn: .seconds(5))
    harness.queue.start()
    harness.clock.advance(by: .seconds(5))
    await stop.value
    #expect(harness.queue.core.withLock { $0.state.phase == .running && $0.overtakenStops.isEmpty })
    operation.release()
    await harness.queue.stop()
  }

  /// By the operation that the stop cancels.
  @Test(arguments: Engine.available) func startedAgainByWhatItCancels_stopKeepsItsPatience(on engine: Engine)
    async throws
  {
    let (harness, operation) = try await executing(on: engine)
    operation.onCancel = { [queue = harness.queue] in queue.start() }
    let stop = Task { await harness.queue.stop(grace: .zero, givingUpAfter: .seconds(5)) }
    await until(!harness.queue.core.withLock { $0.overtakenStops.isEmpty })
    try #require(harness.queue.core.withLock { $0.overtakenStops.allSatisfy { $0.patience != nil } })
    harness.clock.advance(by: .seconds(5))
    await stop.value
    operation.release()
    await harness.queue.stop()
  }

  /// The patience of one is not that of another.
  @Test(arguments: Engine.available) func startedAgainTwice_stopWithoutPatience_waitsOn(on engine: Engine) async throws
  {
    let (harness, operation) = try await executing(on: engine)
    let stopped = Gate()
    let first = Task {
      await harness.queue.stop(grace: .zero)
      stopped.open()
    }
    await operation.cancelRequested.wait()
    harness.queue.start()
    let second = Task { await harness.queue.stop(grace: .zero, givingUpAfter: .seconds(5)) }
    await until(harness.queue.core.withLock { $0.stopWaiters.contains { $0.patience != nil } })
    harness.queue.start()
    harness.clock.advance(by: .seconds(5))
    await second.value
    #expect(!stopped.isOpen && harness.queue.core.withLock { $0.overtakenStops.count == 1 })
    operation.release()
    await first.value
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func patienceOfNothing_stopEndsAtOnce(on engine: Engine) async throws {
    for _ in 0..<20 {
      let (harness, operation) = try await executing(on: engine)
      await harness.queue.stop(grace: .zero, givingUpAfter: .zero)
      operation.release()
    }
  }

  @Test(arguments: Engine.available) func anotherStopGivesUp_stopWithoutPatience_waitsOn(on engine: Engine) async throws
  {
    let (harness, operation) = try await executing(on: engine)
    let stopped = Gate()
    let first = Task {
      await harness.queue.stop(grace: .zero)
      stopped.open()
    }
    await operation.cancelRequested.wait()
    let second = Task { await harness.queue.stop(grace: .zero, givingUpAfter: .seconds(5)) }
    await until(harness.queue.core.withLock { $0.stopWaiters.count == 2 })
    harness.clock.advance(by: .seconds(5))
    await second.value
    #expect(!stopped.isOpen && harness.queue.core.withLock { $0.stopWaiters.count == 1 })
    operation.release()
    await first.value
    #expect(try await harness.queue.counts()[.waiting] == 1)
  }

  @Test(arguments: Engine.available) func anotherStopGaveUp_stopWithoutPatience_waits_andTheLeaseIsRenewed(
    on engine: Engine
  ) async throws {
    let (harness, operation) = try await executing(on: engine)
    await harness.queue.stop(grace: .zero, givingUpAfter: .zero)
    // Until it looks around no longer.
    harness.clock.advance(by: .seconds(10))
    await until(harness.queue.core.withLock { $0.alarm == nil })
    await withCheckedContinuation { looked in harness.queue.core.database.async { _ in looked.resume() } }
    let stopped = Gate()
    let second = Task {
      await harness.queue.stop()
      stopped.open()
    }
    await until(stopped.isOpen || harness.queue.core.withLock { $0.stopWaiters.count == 1 })
    try #require(!stopped.isOpen)
    try await renewLease(of: harness)
    #expect(!stopped.isOpen)
    operation.release()
    await second.value
    #expect(try await harness.queue.counts()[.waiting] == 1)
  }

  /// Moves the time until the lease of the queue is renewed.
  private func renewLease(of harness: Harness) async throws {
    let before = try #require(try await harness.queue.workers().first?.leaseEnd)
    var turns = Turns()
    while try await harness.queue.workers().first?.leaseEnd == before, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await turns.next()
    }
  }

  /// The lease of what it gave up is not renewed.
  @Test func stopGaveUp_queueIsReleased_staysIdle() async throws {
    let operation = NeverFinishingOperation<Void>(holdsOn: true), core: QueueCore
    do {
      let queue = try Harness().queue
      try await queue.register(Count.self) { _, _ in operation }
      queue.start()
      try await queue.enqueue(Count(number: 1))
      await operation.started.wait()
      await queue.stop(grace: .zero, givingUpAfter: .zero)
      core = queue.core
    }
    #expect(core.withLock { $0.state.phase } == .idle)
    operation.release()
  }

  /// As if the timer of the first had been up just before, on a thread that got no processor.
  @Test(arguments: Engine.available) func startedAndStoppedAgain_timerOfTheFirstGraceIsLate_leavesTheSecondItsGrace(
    on engine: Engine
  ) async throws {
    let (harness, operation) = try await executing(on: engine)
    let core = harness.queue.core
    let first = Task { await harness.queue.stop(grace: .seconds(10)) }
    await until(core.withLock { $0.grace != nil })
    harness.queue.start()
    harness.clock.advance(by: .seconds(10))
    let second = Task { await harness.queue.stop(grace: .seconds(10)) }
    await until(core.withLock { $0.grace != nil })
    core.graceIsOver()
    #expect(!operation.cancelRequested.isOpen)
    harness.clock.advance(by: .seconds(10))
    await operation.cancelRequested.wait()
    operation.release()
    await first.value
    await second.value
  }

  /// A queue that is asked by a stop whether it is suspended, and calls `look` once then.
  private final class WatchedQueue: OperationQueue, @unchecked Sendable {  // what is its own is behind a lock
    let look = LockBox<(@Sendable () -> Void)?>(nil)

    override var isSuspended: Bool {
      get {
        // A thread of the store asks, too.
        if DispatchQueue.getSpecific(key: StoreQueue.current) == nil { look.withLock { $0.take() }?() }
        return super.isSuspended
      }
      set { super.isSuspended = newValue }
    }
  }

  /// As if the thread of the first stop got no processor before it looks whether its grace is over.
  @Test func startedAndStoppedAgain_firstStopGoesOnLate_leavesTheSecondItsGrace() async throws {
    let slots = WatchedQueue(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    let harness = try Harness(.memory) { $0.operationQueue = slots }
    let queue = harness.queue, core = queue.core
    try await queue.register(Count.self) { _, _ in operation }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    let hasGoneOn = Gate()
    let second = Task {
      await withCheckedContinuation { second in
        slots.look.withLock {
          $0 = {
            queue.start()
            core.stop(grace: .seconds(60)) { second }
          }
        }
        Task {
          await withCheckedContinuation { first in
            core.stop(grace: .zero) { first }
            hasGoneOn.open()
          }
        }
      }
    }
    await hasGoneOn.wait()
    #expect(!operation.cancelRequested.isOpen && core.withLock { !$0.isGraceOver && $0.grace != nil })
    harness.clock.advance(by: .seconds(60))
    await operation.cancelRequested.wait()
    operation.release()
    await second.value
  }

  @Test(arguments: Engine.available) func startedAgain_laterStopGivesUp_firstWaitsOn_andTheLeaseIsRenewed(
    on engine: Engine
  ) async throws {
    let (harness, operation) = try await executing(on: engine)
    let stopped = Gate()
    let first = Task {
      await harness.queue.stop(grace: .zero)
      stopped.open()
    }
    await operation.cancelRequested.wait()
    harness.queue.start()
    await harness.queue.stop(grace: .zero, givingUpAfter: .zero)
    try #require(!stopped.isOpen && harness.queue.core.withLock { $0.state.phase } == .stopping)
    try await renewLease(of: harness)
    operation.release()
    await first.value
    await harness.queue.hasPumped { $0.phase == .idle }
    #expect(try await harness.queue.counts()[.waiting] == 1)
  }

  /// What the first does not wait for is left to the lease only then.
  @Test(arguments: Engine.available) func startedAgain_laterStopGaveUp_firstReturns_queueGivesUpTheRest(
    on engine: Engine
  ) async throws {
    let told = EventRecorder<JobID>()
    let harness = try Harness(engine.location()) {
      $0.logHandler = { if $0.kind == .abandoned, let id = $0.jobID { told.record(id) } }
    }
    let queue = harness.queue
    let operations = (1...2).map { _ in NeverFinishingOperation<Void>(holdsOn: true) }
    try await queue.register(Count.self) { job, _ in operations[job.number - 1] }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await operations[0].started.wait()
    let first = Task { await queue.stop(grace: .zero) }
    await operations[0].cancelRequested.wait()
    queue.start()
    let id = try await queue.enqueue(Count(number: 2))
    await operations[1].started.wait()
    await queue.stop(grace: .zero, givingUpAfter: .zero)
    #expect(told.events.isEmpty)
    operations[0].release()
    await first.value
    #expect(told.events == [id] && queue.core.withLock { $0.state.phase } == .idle)
    #expect(try await queue.counts()[.waiting] == 1, "the end of the first is written")
    operations[1].release()
    await queue.stop()
    #expect(try await queue.counts()[.waiting] == 2)
  }

  @Test func anotherStopGivesUp_whileARoundWaitsForTheFile_stopWaitsUntilAllIsWritten() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)), queue = harness.queue
      let started = Gate(), release = Gate(), stopped = Gate()
      try await queue.register(Count.self) { _, _ async throws in
        started.open()
        await release.wait()
      }
      queue.start()
      let id = try await queue.enqueue(Count(number: 1))
      await started.wait()
      await queue.hasPumped { !$0.isInRound }
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      await until((try? other.execute("BEGIN IMMEDIATE")) != nil)
      release.open()
      await queue.hasPumped { $0.isInRound && $0.runningCount == 0 }
      let first = Task { await queue.stop(grace: .zero, givingUpAfter: .zero) }
      await queue.hasPumped { $0.phase == .idle }
      let second = Task {
        await queue.stop()
        stopped.open()
      }
      await until(stopped.isOpen || queue.core.withLock { !$0.stopWaiters.isEmpty })
      #expect(!stopped.isOpen)
      try other.execute("ROLLBACK")
      await first.value
      await second.value
      #expect(try await queue.job(id)?.state == .done)
      #expect(try await queue.workers().isEmpty)
    }
  }

  /// DUR-10
  @Test(arguments: Engine.available) func secondStop_withMorePatience_leavesTheFirstItsGrace(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location())
    let started = Gate()
    try await harness.queue.register(Count.self) { _, _ async throws in
      started.open()
      try await Gate().waitUnlessCancelled()
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    await started.wait()
    async let first: Void = harness.queue.stop(grace: .seconds(5))
    await until(harness.queue.core.withLock { $0.grace != nil })
    async let second: Void = harness.queue.stop(grace: .seconds(1_000_000))
    await until(harness.queue.core.withLock({ $0.stopWaiters.count }) >= 2)
    harness.clock.advance(by: .seconds(5))
    await first
    await second
    #expect(try await harness.queue.job(id)?.state == .waiting)
  }

  @Test(arguments: Engine.available) func neverStarted_returns(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    await queue.stop()
    try await queue.waitUntilIdle()
    try await queue.enqueue(Count(number: 1))
    await queue.stop(grace: .zero)
    queue.start()
    await queue.stop()
    await queue.stop()
  }

  /// What is claimed while the queue is being stopped is cancelled with the rest.
  @Test(arguments: Engine.available) func withoutGrace_whileJobsAreClaimed_ends(on engine: Engine) async throws {
    for round in stride(from: 0, to: 100, by: 100 / Scale.count(100, least: 20)) {
      let queue = try DurableQueue(location: engine.location())
      try await queue.register(Count.self) { _, _ in NeverFinishingOperation<Void>() }
      try await queue.enqueue(contentsOf: (1...10).map { Count(number: $0) })
      queue.start()
      for _ in 0..<round { await Task.yield() }
      await queue.stop(grace: .zero)
      #expect(try await queue.counts()[.waiting] == 10)
    }
  }

  @Test(arguments: Engine.available) func pause_whileJobsAreClaimed_holdsAtOnce(on engine: Engine) async throws {
    for round in stride(from: 0, to: 100, by: 100 / Scale.count(100, least: 20)) {
      let queue = try DurableQueue(location: engine.location())
      try await queue.register(Count.self) { _, _ in BlockOperation {} }
      try await queue.enqueue(contentsOf: (1...50).map { Count(number: $0) })
      queue.start()
      for _ in 0..<round { await Task.yield() }
      try await queue.pause(kind: Count.kind)
      // A claim that a server began before may still come.
      await queue.hasPumped { !$0.isInRound }
      let waiting = try await queue.counts()[.waiting]
      try await until(try await queue.counts()[.executing] == 0)
      #expect(try await queue.counts()[.waiting] == waiting)
      await queue.stop()
    }
  }

  @Test(arguments: Engine.available) func startedWhileStopping_goesOn(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = Gate(), release = Gate()
    try await harness.queue.register(Count.self) { job, _ async throws in
      guard job.number == 1 else { return }
      started.open()
      try await release.waitUnlessCancelled()
    }
    harness.queue.start()
    try await harness.queue.enqueue(Count(number: 1))
    await started.wait()
    async let stopped: Void = harness.queue.stop(grace: .seconds(10))
    // It stops when a grace time is set.
    await until(harness.queue.core.withLock({ $0.state.phase }) == .stopping)
    let second = try await harness.queue.enqueue(Count(number: 2))
    harness.queue.start()
    await harness.wait(for: .done, of: second)
    harness.clock.advance(by: .seconds(20))
    release.open()
    await stopped
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.counts()[.done] == 2)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func startAndStop_manyTimes_loseNothing(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let runs = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ async throws in
      await Task.yield()
      try Task.checkCancellation()
      runs.record(job.number)
    }
    try await queue.enqueue(contentsOf: (1...500).map { Count(number: $0) }, options: JobOptions(maxAttempts: 1))
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for round in 0..<50 {
            queue.start()
            await Task.yield()
            if (round + task) % 2 == 0 { await queue.stop(grace: round % 4 < 2 ? .zero : .seconds(1)) }
          }
        }
      }
    }
    queue.start()
    try await queue.waitUntilIdle()
    #expect(try await queue.counts()[.done] == 500)
    #expect(Set(runs.events).count == 500)
    await queue.stop()
  }

  @Test func queueReleasedWhileJobsRun_theyWaitAgain() async throws {
    try await withDatabaseFile { file in
      let started = Gate()
      do {
        let queue = try DurableQueue.patient(file)
        // Neither keeps the queue alive.
        try await queue.register(Count.self) { _, _ in
          started.open()
          return NeverFinishingOperation<Void>()
        }
        queue.start()
        try await queue.enqueue(Count(number: 1))
        await started.wait()
      }
      let inspection = try Inspection(file)
      try await inspection.wait { try $0.count(in: .waiting) == 1 }
      try await inspection.wait { try $0.numbers("SELECT count(*) FROM durable_workers") == [0] }
      #expect(try inspection.numbers("SELECT attempts + crashes FROM durable_jobs") == [0])
    }
  }

  @Test func queueReleasedWhileJobsRun_theirResultsAreWritten() async throws {
    try await withDatabaseFile { file in
      let started = Gate(), release = Gate()
      do {
        let queue = try DurableQueue.patient(file)
        // Neither keeps the queue alive, nor hears that it is cancelled.
        try await queue.register(Count.self) { _, _ in
          BlockOperation {
            started.open()
            release.waitBlocking()
          }
        }
        queue.start()
        try await queue.enqueue(Count(number: 1))
        await started.wait()
      }
      release.open()
      let inspection = try Inspection(file)
      try await inspection.wait { try $0.count(in: .executing) == 0 }
      // It did not hear that it was cancelled, or it did: both are right, but it is not stuck.
      #expect(try inspection.count(in: .done) + inspection.count(in: .waiting) == 1)
    }
  }

  #if os(macOS) || os(Linux)
  @Test("A program that stops at SIGTERM leaves nothing behind")
  func program_thatStops_leavesNothing() async throws {
    try await withDatabaseFile { file in
      let child = try DurableChild(file, "concurrent=2")
      await child.tell("start", until: "started")
      child.tell("enqueue 3 hold")
      await child.wait(forCount: 2, of: "holds")
      child.signal(SIGTERM)
      #expect(await child.end() == 0)
      let inspection = try Inspection(file)
      #expect(try inspection.count(in: .waiting) == 3)
      #expect(try inspection.numbers("SELECT sum(attempts + crashes) FROM durable_jobs") == [0])
      #expect(try inspection.numbers("SELECT count(*) FROM durable_workers") == [0])
    }
  }
  #endif

  @Test func resultsThatCanNotBeWritten_stopReturnsAllTheSame() async throws {
    try await withDatabaseFile { file in
      let log = EventRecorder<String>()
      let harness = try Harness(.file(file)) { configuration in
        configuration.busyTimeout = .milliseconds(1)
        configuration.logHandler = { log.record($0.text) }
      }
      let started = Gate(), release = Gate()
      let runs = EventRecorder<Int>()
      try await harness.queue.register(Count.self) { job, _ async throws in
        runs.record(job.number)
        started.open()
        await release.wait()
      }
      let events = harness.queue.events()
      harness.queue.start()
      let id = try await harness.queue.enqueue(Count(number: 1))
      await started.wait()
      let lock = try Inspection(file)
      try lock.connection.execute("BEGIN EXCLUSIVE")
      release.open()
      let isOver = LockBox(false)
      async let stopped: Void = {
        await harness.queue.stop(grace: .seconds(1_000_000))
        isOver.withLock { $0 = true }
      }()
      while !isOver.withLock({ $0 }), !Task.isCancelled {
        harness.clock.advance(by: .seconds(1))
        await Task.yield()
      }
      await stopped
      #expect(harness.queue.core.withLock { $0.grace == nil })
      for await event in events {
        guard event.kind == .databaseFailed else { continue }
        #expect((event.error as? DatabaseError)?.code == .busy)
        break
      }
      try lock.connection.execute("COMMIT")
      #expect(log.events == ["databaseFailed busy", "unwritten \(id) busy"])
      #expect(try await harness.queue.job(id)?.state == .executing)
      // What became of it is known still.
      harness.queue.start()
      await harness.wait(for: .done, of: id)
      await harness.queue.stop()
      #expect(try await harness.queue.job(id)?.crashes == 0)
      #expect(runs.events == [1])
    }
  }
}
