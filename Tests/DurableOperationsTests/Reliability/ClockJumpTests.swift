import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The system's clock is set anew, by an hour forward or back.
@Suite(.timeLimit(.minutes(30))) struct ClockJumpTests {
  /// A clock whose date can be set.
  private struct Setting {
    let clock = ManualClock()
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    let shift = LockBox(0.0)

    let jobClock: JobClock

    init() {
      let clock = clock, start = start, shift = shift
      jobClock = JobClock(
        clock,
        now: { start.addingTimeInterval(clock.now.offset / .seconds(1) + shift.withLock { $0 }) })
    }

    func jump(_ seconds: Double) { shift.withLock { $0 += seconds } }

    func queue(_ location: DurableQueue.Location = .memory) throws -> DurableQueue {
      var configuration = DurableQueue.Configuration()
      configuration.clock = jobClock
      configuration.busyTimeout = .seconds(60)
      return try DurableQueue(location: location, configuration: configuration)
    }

    /// Moves the time by a second at a time, until a job is done. Returns how far.
    ///
    /// - Parameter isLost: whether a worker that is no more has it at first.
    func advance(
      until id: JobID, isDoneIn queue: DurableQueue, isLost: Bool = false, atMost limit: Int
    ) async throws -> Int {
      for second in 0..<limit {
        await queue.hasLookedAround()
        while let job = try await queue.job(id), job.state != .scheduled, job.lapses > 0 || !isLost, !Task.isCancelled {
          if job.state == .done { return second }
          await Task.yield()
        }
        clock.advance(by: .seconds(1))
      }
      return limit
    }
  }

  @Test("A delay keeps its length", arguments: [-3600.0, 3600.0], [false, true])
  func delay_keepsItsLength(jump: Double, isRunning: Bool) async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    if isRunning { queue.start() }
    let id = try await queue.enqueue(Count(number: 1), options: JobOptions(start: .after(.seconds(100))))
    setting.jump(jump)
    queue.start()
    let time = try await setting.advance(until: id, isDoneIn: queue, atMost: 300)
    #expect((99...105).contains(time))
    await queue.stop()
  }

  @Test(
    "A delay that is stored after the jump, before the queue looked at the clock",
    arguments: [-3600.0, 3600.0], [false, true])
  func delayStoredAfterTheJump_keepsItsLength(jump: Double, isAsync: Bool) async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    queue.start()
    let first = try await queue.enqueue(Count(number: 1))
    try await until(try await queue.job(first)?.state == .done)
    setting.jump(jump)
    let options = JobOptions(start: .after(.seconds(100)))
    let id =
      isAsync
      ? try await queue.enqueue(Count(number: 2), options: options) : try enqueueAtOnce(options, in: queue)
    let time = try await setting.advance(until: id, isDoneIn: queue, atMost: 300)
    #expect((99...105).contains(time))
    await queue.stop()
  }

  @Test("A job that is retried after the jump, before the queue looked at the clock, is not late")
  func retriedAfterTheJump_runsWhenItsPrerequisiteIsDone() async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(startsHeld: true))
    let second = try await queue.enqueue(Count(number: 2), options: JobOptions(dependsOn: [first]))
    try await queue.cancel(second)
    setting.jump(86_400)
    try await queue.retry(second)
    queue.start()
    await queue.hasLookedAround()
    try await queue.retry(first)
    #expect(try await setting.advance(until: second, isDoneIn: queue, atMost: 100) < 5)
    await queue.stop()
  }

  @Test(
    "A delay whose prerequisite ends after the jump, before the queue looked at the clock", arguments: [false, true])
  func prerequisiteEndedAfterTheJump_delayKeepsItsLength(isDeleted: Bool) async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(startsHeld: true))
    let second = try await queue.enqueue(
      Count(number: 2),
      options: JobOptions(start: .after(.seconds(100)), dependsOn: [first], whenPrerequisiteFails: .run))
    setting.jump(86_400)
    if isDeleted { try await queue.delete(first) } else { try await queue.cancel(first) }
    #expect(try await queue.job(second)?.state == .scheduled)
    queue.start()
    let time = try await setting.advance(until: second, isDoneIn: queue, atMost: 300)
    #expect((99...105).contains(time))
    await queue.stop()
  }

  @Test("A delay that the last write before a stop or a suspension stores", arguments: [false, true])
  func delayOfTheLastEndAfterTheJump_keepsItsLength(isGivenBack: Bool) throws {
    let harness = try StoreHarness(), id = try harness.enqueue()
    let claim = try #require(try harness.claim().jobs.first?.claim)
    let end = StoreHarness.acknowledgement(
      of: id, claim: claim, .again(after: .seconds(10), isCharged: true, error: "e"))
    harness.setDate(harness.now + 86_400_000)
    try harness.session { session in
      if isGivenBack {
        try session.giveBackJobs(of: harness.worker, after: [end], keepsDone: true, within: nil)
      } else {
        try session.write([end], keepsDone: true, abandoned: [])
      }
      _ = try session.look(StoreLook(kinds: []))
    }
    #expect(try harness.record(id)?.runAt == Date(milliseconds: harness.now + 10_000))
  }

  @Test func date_followsTheClock() async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    queue.start()
    let id = try await queue.enqueue(
      Count(number: 1), options: JobOptions(start: .at(setting.start.addingTimeInterval(3700))))
    setting.jump(3600)
    let time = try await setting.advance(until: id, isDoneIn: queue, atMost: 300)
    #expect((90...105).contains(time))
    await queue.stop()
  }

  @Test("A periodic job goes on when the clock was ahead", arguments: ["interval", "cron"])
  func periodicJob_goesOn(_ what: String) async throws {
    let setting = Setting(), queue = try setting.queue()
    let times = EventRecorder<Double>()
    try await queue.register(Count.self) { _, context in
      let time = context.occurrence!.timeIntervalSince(setting.start)
      return BlockOperation { times.record(time) }
    }
    let ahead = what == "interval" ? 3600.0 : 10 * 365 * 86400.0
    setting.jump(ahead)
    queue.start()
    let schedule: JobSchedule =
      what == "interval"
      ? .interval(.seconds(60)) : try .cron("* * * * *", timeZone: TimeZone(identifier: "UTC")!)
    try await queue.schedule(Count(number: 1), named: "tick", schedule)
    func run(untilLater than: Double) async throws {
      while !times.events.contains(where: { $0 < than }), !Task.isCancelled {
        setting.clock.advance(by: .seconds(1))
        await queue.hasLookedAround()
        // What has become due is done, however long that takes, before the time goes on.
        while !Task.isCancelled {
          let counts = try await queue.counts()
          if counts[.waiting] + counts[.executing] == 0 { break }
          await Task.yield()
        }
      }
    }
    try await run(untilLater: .infinity)
    #expect(times.events.allSatisfy { $0 >= ahead })
    setting.jump(-ahead)
    try await run(untilLater: ahead)
    // Within its own distance, not when the clock is where it was.
    #expect(times.events.last! <= setting.clock.now.offset / .seconds(1))
    #expect(setting.clock.now.offset < .seconds(600))
    await queue.stop()
  }

  @Test("A lease that ends in a year, for the clock was ahead before the machine was started, ends all the same")
  func leaseOfADateFarAhead_ends() async throws {
    let setting = Setting(), queue = try setting.queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    let id = try await queue.enqueue(Count(number: 1))
    let end = Int64(setting.start.timeIntervalSince1970 + 365 * 86_400) * 1000
    try await queue.transaction { db in
      try db.execute(
        """
        INSERT INTO durable_workers (id, boot, namespace, host, process, started, lease, lease_until)
        VALUES (77, 'the start before', 'x', 'here', 4242, 1, 60000, ?)
        """, .integer(end))
      _ = try db.execute("UPDATE durable_jobs SET state = 3, worker = 77, claim = 1 WHERE id = 1")
    }
    queue.start()
    let time = try await setting.advance(until: id, isDoneIn: queue, isLost: true, atMost: 300)
    #expect((59...65).contains(time))
    await queue.stop()
  }

  @Test("A delay of before the machine was started, when its clock was ahead, does not wait for that date")
  func delayOfADateFarAhead_endsInItsTime() async throws {
    try await withDatabaseFile { file in
      let before = Setting()
      before.jump(365 * 86_400)
      let options = JobOptions(start: .after(.seconds(100)))
      let id = try await before.queue(.file(file)).enqueue(Count(number: 1), options: options)
      let now = Setting(), queue = try now.queue(.file(file))
      try await queue.register(Count.self) { _, _ in BlockOperation {} }
      queue.start()
      let time = try await now.advance(until: id, isDoneIn: queue, atMost: 300)
      #expect((99...105).contains(time))
      await queue.stop()
    }
  }

  @Test("After sleep, who wakes first leaves the jobs of a process that is there to it")
  func machineSlept_livingProcessKeepsItsJobs() async throws {
    try await withDatabaseFile { file in
      // The date is the same for both; each has timers of its own, for one wakes first.
      let date = LockBox(0.0), start = Date(timeIntervalSince1970: 1_800_000_000)
      let runs = EventRecorder<Int>(), release = Gate()
      let clocks = [ManualClock(), ManualClock()]
      let queues = try clocks.map { clock in
        var configuration = DurableQueue.Configuration()
        configuration.clock = JobClock(clock, now: { start.addingTimeInterval(date.withLock { $0 }) })
        configuration.busyTimeout = .seconds(60)
        let queue = try DurableQueue(location: .file(file), configuration: configuration)
        try queue.register(Count.self) { job, _ async throws in
          runs.record(job.number)
          await release.wait()
        }
        return queue
      }
      queues[0].start()
      let id = try await queues[0].enqueue(Count(number: 1))
      await runs.wait(forCount: 1)
      queues[1].start()
      // Some looks before, and some after, of the one that wakes first.
      for sleep in [1.0, 1, 1, 3600, 1, 1, 1] {
        await queues[1].hasLookedAround()
        date.withLock { $0 += sleep }
        clocks[1].advance(by: .seconds(sleep))
      }
      await queues[1].hasLookedAround()
      #expect(runs.count == 1)
      clocks[0].advance(by: .seconds(3606))
      await queues[0].hasLookedAround()
      #expect(try await queues[0].job(id)?.state == .executing)
      release.open()
      for queue in queues { await queue.stop() }
      #expect(runs.count == 1)
      #expect(try await queues[0].job(id)?.crashes == 0)
    }
  }

  @Test func aFewSecondsBack_noTimeOfAPeriodicJobComesTwice() throws {
    let harness = try StoreHarness()
    let job = StoreHarness.job()
    for (name, schedule) in [("a", JobSchedule.interval(.seconds(60))), ("b", try .cron("* * * * *"))] {
      try harness.change { try $0.schedule(job, named: name, schedule, .latest) }
    }
    harness.now += 600_000
    #expect(try harness.change { try $0.enqueueOccurrences().enqueued.count } == 2)
    harness.now -= 30_000
    #expect(try !harness.store.hasPeriodicJobsFarAhead())
    // Hours are waited for by a line of cron alone.
    harness.now -= 3_600_000
    try harness.change { try $0.bringBackPeriodicJobs() }
    harness.now += 61_000
    #expect(try harness.change { try $0.enqueueOccurrences().enqueued.count } == 1)
  }

  @Test("A lease keeps its length: nothing runs twice", arguments: [-3600.0, 3600.0])
  func lease_keepsItsLength(jump: Double) async throws {
    try await withDatabaseFile { file in
      let setting = Setting()
      let queues = [try setting.queue(.file(file)), try setting.queue(.file(file))]
      let started = EventRecorder<Int>(), release = Gate()
      for queue in queues {
        try await queue.register(Count.self, maxConcurrent: 1) { job, _ async throws in
          started.record(job.number)
          await release.wait()
        }
      }
      let rescued = EventRecorder<Int>()
      let listeners = queues.map { queue in
        let events = queue.events()
        return Task {
          for await event in events {
            if [.rescued, .leaseLost].contains(event.kind) { rescued.record(1) }
          }
        }
      }
      for queue in queues { queue.start() }
      try await queues[0].enqueue(contentsOf: [Count(number: 1), Count(number: 2)])
      while started.count < 2 {
        setting.clock.advance(by: .seconds(1))
        for queue in queues { await queue.hasLookedAround() }
      }
      setting.jump(jump)
      let inspection = try Inspection(file)
      for _ in 0..<150 {
        setting.clock.advance(by: .seconds(1))
        for queue in queues { await queue.hasLookedAround() }
      }
      #expect(try inspection.count(in: .executing) == 2)
      #expect(rescued.events == [])
      release.open()
      for queue in queues { await queue.stop() }
      #expect(started.count == 2)
      for listener in listeners { listener.cancel() }
    }
  }

  @Test("A lease that is shorter than the poll interval is renewed in time")
  func shortLease_isProlonged() async throws {
    try await withDatabaseFile { file in
      let setting = Setting()
      var configuration = DurableQueue.Configuration()
      configuration.clock = setting.jobClock
      configuration.busyTimeout = .seconds(60)
      let other = try DurableQueue(location: .file(file), configuration: configuration)
      configuration.leaseDuration = .seconds(6)
      configuration.pollInterval = .seconds(60)
      let queue = try DurableQueue(location: .file(file), configuration: configuration)
      let started = Gate(), release = Gate()
      try await queue.register(Count.self) { _, _ async throws in
        started.open()
        await release.wait()
      }
      for queue in [queue, other] { queue.start() }
      let id = try await queue.enqueue(Count(number: 1))
      await started.wait()
      // The round that has claimed it has ended, and set the alarm for the lease.
      try await queue.core.database.run { _ in }
      for _ in 0..<30 {
        setting.clock.advance(by: .seconds(1))
        for queue in [queue, other] { await queue.hasLookedAround() }
      }
      #expect(try await other.job(id)?.state == .executing)
      release.open()
      for queue in [queue, other] { await queue.stop() }
      #expect(try await other.job(id)?.crashes == 0)
    }
  }

  private func enqueueAtOnce(_ options: JobOptions, in queue: DurableQueue) throws -> JobID {
    try queue.enqueue(Count(number: 2), options: options)
  }
}
