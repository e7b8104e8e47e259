import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// APL-5: a queue that is suspended with its app.
@Suite(.timeLimit(.minutes(30))) struct SuspensionTests {
  /// What there is of a queue on the disk.
  private func contents(_ file: URL) throws -> [String: Data] {
    let folder = file.deletingLastPathComponent()
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      contents[name] = try Data(contentsOf: folder.appending(path: name))
    }
    return contents
  }

  @Test func suspended_touchesNoFile_holdsNoLock_andSetsNoTimer() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)) { $0.leaseDuration = .seconds(60) }
      let queue = harness.queue, started = Gate()
      try await queue.register(Count.self) { _, _ async throws in
        started.open()
        try await Gate().waitUnlessCancelled()
      }
      try await queue.schedule(Count(number: 9), named: "tick", .interval(.seconds(5)))
      queue.start()
      let id = try await queue.enqueue(Count(number: 1), options: JobOptions(timeout: .seconds(30)))
      await started.wait()
      await queue.suspend()
      await harness.clock.waitUntilIdle()
      let before = try contents(file)
      for _ in 0..<180 {
        harness.clock.advance(by: .seconds(1))
        await Task.yield()
      }
      #expect(try contents(file) == before)
      // Another connection gets every lock that there is.
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      try other.execute("BEGIN EXCLUSIVE")
      try other.execute("ROLLBACK")
      let rows = try other.execute(
        "SELECT state, attempts, crashes, worker FROM durable_jobs WHERE id = \(id.rawValue)")
      #expect(rows[0].values == [.integer(0), .integer(0), .integer(0), .null])
      #expect(try other.execute("SELECT 1 FROM durable_workers").isEmpty)
    }
  }

  @Test func suspended_refusesWhatIsAsked_andResumedGoesOn() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file))
      let queue = harness.queue, runs = EventRecorder<Int>()
      try await queue.register(Count.self) { job, _ async throws in
        runs.record(job.number)
        if runs.count(of: 1) == 1 { try await Gate().waitUnlessCancelled() }
      }
      queue.start()
      let id = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
      await runs.wait(forCount: 1)
      async let settled = queue.waitUntilSettled(id)
      await queue.suspend()
      await queue.suspend()
      await #expect(throws: DatabaseError.self) { try await queue.enqueue(Count(number: 2)) }
      do {
        _ = try await queue.job(id)
        Issue.record("It was not refused")
      } catch let error as DatabaseError {
        #expect(error.code == .suspended)
        #expect(error.description.contains("resume()"))
      }
      queue.resume()
      queue.resume()
      // It costs neither an attempt nor a crash.
      #expect(try await settled?.state == .done)
      #expect(try await queue.job(id)?.crashes == 0)
      #expect(runs.events == [1, 1])
      await queue.stop()
    }
  }

  @Test(arguments: Engine.available) func operationThatDoesNotEnd_isGivenBackAllTheSame(on engine: Engine) async throws
  {
    let harness = try Harness(engine.location())
    let queue = harness.queue, started = Gate(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    try await queue.register(Count.self) { _, _ in
      started.open()
      return operation
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await started.wait()
    await queue.suspend()
    queue.core.database.isSuspended = false
    #expect(try await queue.job(id)?.state == .waiting)
    operation.release()
  }

  @Test(arguments: [true, false]) func operationThatSucceeds_whenItsJobWasGivenBack_isNotToldAsALoss(isSuspended: Bool)
    async throws
  {
    let harness = try StoreHarness(), events = harness.events.stream(bufferingPolicy: .unbounded)
    try harness.enqueue()
    let job = try #require(try harness.claim().jobs.first)
    try harness.change { try $0.giveBackJobs(of: harness.worker) }
    let acknowledgement = try #require(
      Execution(number: 1, job: job, kindName: "a", registration: nil).acknowledgement(
        of: .success(()), interruptedBy: isSuspended ? .suspension : nil, now: Date(), isOnline: true
      ) { _ in .zero })
    #expect(try !harness.change { try $0.acknowledge(acknowledgement, keepsDone: true) })
    harness.events.end()
    var told: [JobEvent.Kind] = []
    for await event in events { told.append(event.kind) }
    #expect(told.contains(.leaseLost) == !isSuspended)
  }

  /// Its job was returned, and no other process has taken it.
  @Test(arguments: Engine.available) func suspendedWhileTheErrorOfAnAttemptIsDescribed_isNotToldAsALoss(
    on engine: Engine
  ) async throws {
    let queue = try Harness(engine.location()).queue, events = queue.events()
    let described = Gate(), proceed = Gate(), isFirst = Flag()
    try await queue.register(Count.self) { _, _ in
      if isFirst.isSet { return BlockOperation {} }
      isFirst.set()
      throw DescribedFailure {
        described.open()
        proceed.waitBlocking()
      }
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    await described.wait()
    await queue.suspend()
    proceed.open()
    await until(queue.core.withLock { $0.executions.isEmpty })
    queue.resume()
    #expect(try await queue.waitUntilSettled(id)?.state == .done)
    await queue.stop()
    let texts = await texts(of: events, through: "done \(id)")
    #expect(!texts.contains { $0.hasPrefix("leaseLost") } && texts.count { $0.hasPrefix("started") } == 2, "\(texts)")
  }

  @Test(arguments: Engine.available) func operationThatDoesNotEnd_isToldOfOnce_whenTheQueueIsResumed(on engine: Engine)
    async throws
  {
    let told = EventRecorder<String>(), operation = NeverFinishingOperation<Void>(holdsOn: true), isFirst = Flag()
    let harness = try Harness(engine.location()) { $0.logHandler = { told.record($0.description) } }
    let queue = harness.queue
    try await queue.register(Count.self) { _, _ in
      if isFirst.isSet { return BlockOperation {} }
      isFirst.set()
      return operation
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    await queue.suspend()
    await harness.clock.waitUntilIdle()
    harness.clock.advance(by: .seconds(100))
    #expect(told.events.isEmpty)
    queue.resume()
    await harness.clock.waitForSleeper(dueIn: .seconds(10))
    harness.clock.advance(by: .seconds(10))
    await told.wait(forCount: 1)
    // Its job went back, and is done by now; the operation is still there.
    #expect(try await queue.waitUntilSettled(id)?.state == .done)
    await queue.suspend()
    queue.resume()
    for _ in 0..<20 {
      harness.clock.advance(by: .seconds(1))
      await queue.hasLookedAround()
    }
    operation.release()
    await queue.stop()
    #expect(told.events == ["unresponsive: job \(id) (count)"])
  }

  @Test(arguments: Engine.available) func stoppedOrStartedWhileSuspended_countsWhenItIsResumed(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location())
    let queue = harness.queue
    try await queue.register(Count.self) { _, _ async throws in }
    let id = try await queue.enqueue(Count(number: 1))
    queue.start()
    _ = try await queue.waitUntilSettled(id)
    await queue.suspend()
    await queue.stop()
    queue.resume()
    let second = try await queue.enqueue(Count(number: 2))
    #expect(queue.core.withLock { $0.state.phase } == .idle)
    #expect(try await queue.job(second)?.state == .waiting)
    await queue.suspend()
    queue.start()
    queue.resume()
    #expect(try await queue.waitUntilSettled(second)?.state == .done)
    await queue.stop()
  }

  /// The first waits already when the queue is suspended.
  @Test(arguments: Engine.available) func stopsOfASuspendedQueue_waitForWhatRuns_unlessTheyHaveAPatience(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location()), stopped = EventRecorder<Int>()
    let queue = harness.queue, operation = NeverFinishingOperation<Void>(holdsOn: true)
    try await queue.register(Count.self) { _, _ in operation }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    let first = Task {
      await queue.stop()
      stopped.record(1)
    }
    let patient = Task { await queue.stop(givingUpAfter: .seconds(5)) }
    await until(queue.core.withLock { $0.stopWaiters.count == 2 })
    await queue.suspend()
    await patient.value
    await queue.stop(givingUpAfter: .seconds(5))
    // It sets no timer.
    await harness.clock.waitUntilIdle()
    let second = Task {
      await queue.stop()
      stopped.record(2)
    }
    await until(!stopped.events.isEmpty || queue.core.withLock { $0.overtakenStops.count == 2 })
    #expect(stopped.events.isEmpty)
    operation.release()
    await first.value
    await second.value
    queue.resume()
    await queue.stop()
  }

  @Test func suspendedAndResumed_manyTimes_losesNothing() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      let runs = EventRecorder<Int>()
      try await queue.register(Count.self) { job, _ async throws in runs.record(job.number) }
      queue.start()
      let count = 300
      try await queue.enqueue(contentsOf: (0..<count).map { Count(number: $0) })
      // As long as nothing runs in between, it is given more time: how much that takes is the
      // machine's.
      var (pause, before) = (50, 0)
      while Set(runs.events).count < count, !Task.isCancelled {
        await queue.suspend()
        queue.resume()
        for _ in 0..<pause { await Task.yield() }
        let events = runs.events.count
        pause = events == before ? pause * 2 : 50
        before = events
      }
      try await queue.waitUntilIdle()
      await queue.stop()
      #expect(try await queue.counts()[.done] == count)
      #expect(
        try queue.core.reader.withSQLite { store in
          try store.connection.execute("SELECT max(crashes), max(lapses), max(attempts) FROM durable_jobs")[0].values
        } == [.integer(0), .integer(0), .integer(1)])
    }
  }

  @Test func waitForASettledJob_whileTheQueueIsSuspendedAgainAndAgain_throwsNothing() async throws {
    try await withDatabaseFile { file in
      let queue = try Harness(.file(file)).queue
      let id = try await queue.enqueue(Count(number: 1))
      try await queue.cancel(id)
      let waiting = Task {
        for _ in 0..<300 {
          let record = try await queue.waitUntilSettled(id)
          #expect(record?.state == .cancelled)
        }
      }
      for _ in 0..<100 {
        await queue.suspend()
        queue.resume()
      }
      try await withTaskCancellationHandler {
        try await waiting.value
      } onCancel: {
        waiting.cancel()
      }
    }
  }

  @Test func resumedWhileItIsBeingSuspended_goesOn() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file), runs = EventRecorder<Int>()
      try await queue.register(Count.self) { job, _ async throws in runs.record(job.number) }
      queue.start()
      var stored: Set<Int> = []
      for number in 0..<200 {
        async let suspended: Void = queue.suspend()
        async let again: Void = queue.suspend()
        do {
          try await queue.enqueue(Count(number: number))
          stored.insert(number)
        } catch let error as DatabaseError {
          #expect(error.code == .suspended)
        }
        queue.resume()
        _ = await (suspended, again)
        queue.resume()
        if number % 10 == 0 { _ = try await queue.counts() }
      }
      // It may have refused all of these.
      try await queue.enqueue(Count(number: 200))
      stored.insert(200)
      try await queue.waitUntilIdle()
      #expect(Set(runs.events) == stored)
      let counts = try await queue.counts()
      #expect(counts[.done] == stored.count && counts.total == stored.count)
      await queue.stop()
    }
  }

  @Test func fileIsLockedByAnother_whatWaitsForIt_isToldThatTheQueueIsSuspended() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      try other.execute("BEGIN IMMEDIATE")
      for _ in 0..<20 {
        async let id = queue.enqueue(Count(number: 1))
        for _ in 0..<20 { await Task.yield() }
        await queue.suspend()
        do {
          _ = try await id
          Issue.record("It was not refused")
        } catch let error as DatabaseError {
          #expect(error.code == .suspended)
        }
        queue.resume()
      }
      try other.execute("ROLLBACK")
    }
  }

  @Test func suspendedWhileItWaitsForAnother_isNoFailure() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file), events = queue.events()
      try await queue.register(Count.self) { _, _ async throws in }
      let id = try await queue.enqueue(Count(number: 1))
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      await until((try? other.execute("BEGIN IMMEDIATE")) != nil)
      queue.start()
      for _ in 0..<5 {
        // Otherwise a round comes after the look, which waits for the same lock.
        queue.core.pump()
        await queue.hasPumped { $0.isInRound }
        // The look and the round may wait by now, or be about to.
        for _ in 0..<20 { await Task.yield() }
        await queue.suspend()
        queue.resume()
      }
      try other.execute("ROLLBACK")
      #expect(try await queue.waitUntilSettled(id)?.state == .done)
      await queue.stop()
      let texts = await texts(of: events, through: "done \(id)")
      #expect(texts == ["enqueued \(id)", "started \(id) 1", "done \(id)"])
    }
  }

  @Test func fileIsLockedByAnother_suspendReturns_andNothingIsLost() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      let started = Gate()
      try await queue.register(Count.self) { _, _ async throws in
        started.open()
        try await Gate().waitUnlessCancelled()
      }
      queue.start()
      let id = try await queue.enqueue(Count(number: 1))
      await started.wait()
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      await until((try? other.execute("BEGIN IMMEDIATE")) != nil)
      await queue.suspend()
      try other.execute("ROLLBACK")
      queue.resume()
      try await until(try await queue.job(id)?.startedAt != nil)
      #expect(try await queue.job(id)?.crashes == 0)
      await queue.stop(grace: .zero)
    }
  }

  /// APL-6
  @Test func leaseOfAnUnreachableProcess_runsOut_isNoCrash() throws {
    let reported = EventRecorder<JobError?>()
    let harness = try StoreHarness { reported.record($0.error as? JobError) }
    let id = try harness.enqueue()
    for lapse in 1...3 {
      #expect(try harness.claimed().count == 1)
      let worker = harness.worker
      _ = try harness.change {
        try $0.rescue(from: worker, after: .lapsed, maxCrashes: 1, maxLapses: 3)
      }
      let row = try harness.store.connection.execute("SELECT state, crashes, lapses, lane & 2 FROM durable_jobs")[0]
        .values
      // From the second on it runs alone: it may be the job that ends its processes.
      #expect(row == [.integer(lapse == 3 ? 6 : 0), .integer(0), .integer(Int64(lapse)), .integer(lapse > 1 ? 2 : 0)])
    }
    #expect(reported.events.map { $0?.reason } == [.tooManyLapses(3)])
    let error = try #require(try harness.record(id)?.lastError)
    #expect(error.hasPrefix("Job \(id) of the kind “a” is dead: 3 times the process"), "\(error)")
    #expect(error.contains("suspend()") && error.contains("maxLapses"), "\(error)")
  }

  #if canImport(Darwin)
  private static let whereDevicesAreLocked = DatabaseError.Code.deviceLocked
  #else
  private static let whereDevicesAreLocked = DatabaseError.Code.inputOutput
  #endif

  /// APL-7
  @Test(arguments: [
    (Int32(23), "authorization denied", Int32(0), DatabaseError.Code.deviceLocked),
    (23, "not authorized", 0, .statement),
    (266, "disk I/O error", EPERM, whereDevicesAreLocked), (266, "disk I/O error", EIO, .inputOutput),
    (9, "interrupted", 0, .suspended),
  ]) func resultOfALockedDevice_isAnErrorOfItsOwn(
    code: Int32, message: String, system: Int32, right: DatabaseError.Code
  ) {
    let error = DatabaseError(resultCode: code, message: message, systemCode: system, sql: nil, path: "jobs.sqlite")
    #expect(error.code == right)
    if right == .deviceLocked { #expect(error.description.contains("while the device is locked")) }
  }

  /// APL-18
  @Test func startOfTheMachineIsNotKnown_delaysStayAsTheyAre() throws {
    let harness = try StoreHarness()
    harness.now = 1_000_000
    try harness.change { try $0.clockShows(offset: 5000, boot: "") }
    try harness.store.connection.execute("UPDATE durable_meta SET value = 500000 WHERE key = 'seen'")
    _ = try harness.change { store in
      try store.connection.execute(
        "INSERT INTO durable_workers (boot, host, process, started, lease, lease_until) VALUES ('', 'h', 1, 1, 1, 7777)"
      )
    }
    try harness.change { try $0.clockShows(offset: 900_000, boot: "") }
    let rows = try harness.store.connection.execute("SELECT lease_until FROM durable_workers WHERE host = 'h'")
    #expect(rows[0].values == [.integer(7777)])
  }
}
