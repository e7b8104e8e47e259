import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PeriodicTests {
  private let utc = TimeZone(identifier: "UTC")!

  private func runner(_ harness: Harness) throws -> EventRecorder<Double> {
    let seen = EventRecorder<Double>()
    let start = harness.start
    try harness.queue.register(Count.self) { _, context in
      let occurrence = context.occurrence!.timeIntervalSince(start)
      return BlockOperation { seen.record(occurrence) }
    }
    return seen
  }

  /// Moves the time on a little, until that many jobs have run.
  private func advance(_ harness: Harness, by step: Duration, until count: Int, of seen: EventRecorder<Double>) async {
    while seen.count < count, !Task.isCancelled {
      await harness.clock.waitForSleeper()
      harness.clock.advance(by: step)
      for _ in 0..<20 where seen.count < count { await Task.yield() }
    }
  }

  /// The same, until the jobs of these times have run. A server that is slow does not give the jobs
  /// in their exact order: some later ones may have run, too.
  private func advance(
    _ harness: Harness, by step: Duration, through times: Set<Double>, of seen: EventRecorder<Double>
  ) async {
    await advance(harness, by: step, until: times.count, of: seen)
    while !times.isSubset(of: seen.events), seen.count < 2 * times.count + 20, !Task.isCancelled {
      await advance(harness, by: step, until: seen.count + 1, of: seen)
    }
    #expect(times.isSubset(of: seen.events))
  }

  @Test(arguments: Engine.available) func interval_isEnqueuedAtEachOfItsTimes(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.maxConcurrentOperationCount = 1 }
    let seen = try runner(harness)
    harness.queue.start()
    try await harness.queue.schedule(
      Count(number: 1), named: "tick", .interval(.seconds(60), startingAt: harness.start), catchUp: .all)
    #expect(try await harness.queue.periodicJobs().map(\.nextAt) == [harness.start.addingTimeInterval(60)])
    await advance(harness, by: .seconds(20), through: [60, 120, 180], of: seen)
    #expect(seen.events.allSatisfy { $0 > 0 && $0.remainder(dividingBy: 60) == 0 }, "\(seen.events)")
    if engine == .sqlite { #expect(seen.events.prefix(3) == [60, 120, 180]) }
    #expect(try await harness.queue.unschedule(named: "tick"))
    #expect(try await !harness.queue.unschedule(named: "tick"))
    #expect(try await harness.queue.periodicJobs().isEmpty)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func cron_isEnqueuedAtEachOfItsTimes(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.maxConcurrentOperationCount = 1 }
    let seen = try runner(harness)
    harness.queue.start()
    // The start is 08:00 in Greenwich.
    try await harness.queue.schedule(
      Count(number: 1), named: "quarter", try .cron("*/15 * * * *", timeZone: utc), catchUp: .all)
    await advance(harness, by: .seconds(60), through: [900, 1800], of: seen)
    #expect(seen.events.allSatisfy { $0 > 0 && $0.remainder(dividingBy: 900) == 0 }, "\(seen.events)")
    if engine == .sqlite { #expect(seen.events.prefix(2) == [900, 1800]) }
    await harness.queue.stop()
  }

  @Test(arguments: [JobCatchUp.latest, .all])
  func missedTimes_areCaughtUpAsAsked(_ catchUp: JobCatchUp) async throws {
    try await withDatabaseFile { file in
      let first = try Harness(.file(file))
      try await first.queue.schedule(
        Count(number: 1), named: "tick", .interval(.seconds(60), startingAt: first.start), catchUp: catchUp)
      let harness = try Harness(.file(file))
      harness.clock.advance(by: .seconds(330))
      let seen = try runner(harness)
      harness.queue.start()
      await seen.wait(forCount: catchUp == .latest ? 1 : 5)
      try await harness.queue.waitUntilIdle()
      #expect(seen.events.sorted() == (catchUp == .latest ? [300] : [60, 120, 180, 240, 300]))
      #expect(try await harness.queue.periodicJobs()[0].nextAt == harness.start.addingTimeInterval(360))
      await harness.queue.stop()
    }
  }

  @Test(arguments: Engine.available) func moreThanAThousandMissed_allAreCaughtUp(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let seen = try runner(harness)
    try await harness.queue.schedule(
      Count(number: 1), named: "tick", .interval(.seconds(1), startingAt: harness.start), catchUp: .all)
    let count = 1100, missed = Set((1...count).map(Double.init))
    harness.clock.advance(by: .seconds(count))
    harness.queue.start()
    await advance(harness, by: .milliseconds(1), through: missed, of: seen)
    await harness.queue.stop()
    let times = seen.events
    #expect(Set(times).count == times.count)
  }

  /// The system's time zone data may be new since the time was stored.
  @Test(arguments: Engine.available) func rulesOfTheZoneHaveChanged_theNextTimeIsComputedAnew_whenTheQueueStarts(
    on engine: Engine
  ) async throws {
    try await withDatabaseFile { file in
      let location = try engine == .sqlite ? DurableQueue.Location.file(file) : engine.location()
      let first = try Harness(location).queue
      // The start is 08:00 in Greenwich.
      let daily = try JobSchedule.cron("0 12 * * *", timeZone: utc)
      try await first.schedule(Count(number: 1), named: "early", daily)
      try await first.schedule(Count(number: 1), named: "late", daily)
      try await first.schedule(Count(number: 1), named: "right", daily)
      try await first.schedule(Count(number: 1), named: "over", daily)
      let table = engine.table("periodic")
      try await first.transaction { db in
        try db.execute("UPDATE \(table) SET next_at = next_at - 3600000 WHERE name = 'early'")
        try db.execute("UPDATE \(table) SET next_at = next_at + 3600000 WHERE name = 'late'")
        try db.execute("UPDATE \(table) SET next_at = NULL WHERE name = 'over'")
      }
      let harness = try Harness(location), noon = harness.start.addingTimeInterval(4 * 3600)
      // A queue that only looks may know other rules.
      #expect(try await harness.queue.periodicJobs().map(\.nextAt) != [noon, noon, nil, noon])
      let seen = try runner(harness)
      harness.queue.start()
      await harness.queue.hasLookedAround()
      #expect(try await harness.queue.periodicJobs().map(\.nextAt) == [noon, noon, nil, noon])
      await harness.queue.hasNothingUnderWay()
      harness.clock.advance(by: .seconds(4 * 3600))
      await advance(harness, by: .milliseconds(1), until: 3, of: seen)
      #expect(seen.events == [14400, 14400, 14400])
      await harness.queue.stop()
    }
  }

  @Test(arguments: Engine.available) func moreThanAThousandMissed_andTheClockStandsStill_allAreCaughtUp(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location())
    let seen = try runner(harness)
    for (name, start) in [("a", harness.start), ("b", harness.start.addingTimeInterval(1700))] {
      try await harness.queue.schedule(
        Count(number: 1), named: name, .interval(.seconds(1), startingAt: start), catchUp: .all)
    }
    harness.clock.advance(by: .seconds(2200))
    harness.queue.start()
    await seen.wait(forCount: 2200 + 501)
    try await harness.queue.waitUntilIdle()
    #expect(seen.count == 2200 + 501)
    #expect(Set(seen.events).count == 2200)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func sameScheduleAgain_keepsItsTime_anotherBeginsAnew(on engine: Engine) throws {
    let harness = try Harness(engine.location())
    let schedule = JobSchedule.interval(.seconds(3600), startingAt: harness.start)
    try harness.queue.schedule(Count(number: 1), named: "tick", schedule)
    harness.clock.advance(by: .seconds(4000))
    // The time that has passed is still due.
    try harness.queue.schedule(Count(number: 2), named: "tick", schedule, catchUp: .all)
    var job = try #require(try harness.queue.periodicJobs().first)
    #expect(job.nextAt == harness.start.addingTimeInterval(3600))
    #expect(job.catchUp == .all && job.name == "tick" && job.id == "tick" && job.kind == "count")
    try harness.queue.schedule(
      Count(number: 2), named: "tick", .interval(.seconds(60), startingAt: harness.start))
    job = try #require(try harness.queue.periodicJobs().first)
    #expect(job.nextAt == harness.start.addingTimeInterval(4020))
  }

  @Test(arguments: Engine.available) func uniqueKey_leavesTimesOutWhileTheOneBeforeHasNotEnded(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location())
    harness.queue.start()
    try await harness.queue.schedule(
      Count(number: 1), named: "tick", .interval(.seconds(60), startingAt: harness.start),
      options: JobOptions(uniqueKey: UniqueKey("tick")), catchUp: .all)
    for _ in 0..<10 {
      await harness.clock.waitForSleeper()
      harness.clock.advance(by: .seconds(60))
    }
    while try await harness.queue.periodicJobs()[0].nextAt! < harness.start.addingTimeInterval(600), !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    // Nothing is registered, so the first one waits.
    #expect(try await harness.queue.counts().total == 1)
    await harness.queue.stop()
  }

  @Test func twoQueuesOnOneFile_neverDoubleATime() async throws {
    try await withDatabaseFile { file in
      let clock = ManualClock()
      let first = try Harness(.file(file), clock: clock) { $0.leaseDuration = .seconds(1_000_000) }
      let second = try Harness(.file(file), clock: clock) { $0.leaseDuration = .seconds(1_000_000) }
      let seen = EventRecorder<Double>()
      for harness in [first, second] {
        let start = harness.start
        try await harness.queue.register(Count.self) { _, context in
          seen.record(context.occurrence!.timeIntervalSince(start))
          return BlockOperation {}
        }
        try await harness.queue.schedule(
          Count(number: 1), named: "tick", .interval(.seconds(1), startingAt: harness.start), catchUp: .all)
        harness.queue.start()
      }
      while seen.count < 100, !Task.isCancelled {
        await clock.waitForSleeper()
        clock.advance(by: .milliseconds(500))
        await Task.yield()
      }
      for harness in [first, second] { await harness.queue.stop() }
      #expect(Set(seen.events).count == seen.count)
    }
  }

  @Test(arguments: Engine.available) func dependencies_doNotCount_andNothingElseStops(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.maxConcurrentOperationCount = 1 }
    let seen = try runner(harness)
    try await harness.queue.schedule(
      Count(number: 1), named: "tick", .interval(.seconds(60), startingAt: harness.start),
      options: JobOptions(start: .after(.seconds(900)), dependsOn: [JobID(rawValue: 77)]), catchUp: .all)
    harness.queue.start()
    await advance(harness, by: .seconds(20), through: [60, 120], of: seen)
    if engine == .sqlite { #expect(seen.events.prefix(2) == [60, 120]) }
    await harness.queue.stop()
  }

  @Test func unreadablePeriodicJob_thatIsDue_isNotWrittenAbout() async throws {
    try await withDatabaseFile { file in
      // Nothing is deleted once a minute, which would be written, too.
      let harness = try Harness(.file(file)) { $0.retention = .forever }, told = EventRecorder<String>()
      try await harness.queue.schedule(
        Count(number: 1), named: "a", .interval(.seconds(60), startingAt: harness.start), catchUp: .all)
      try await harness.queue.transaction { _ = try $0.execute("UPDATE durable_periodic SET schedule = 'x'") }
      let events = harness.queue.events()
      let listening = Task { for await event in events { told.record("\(event.kind)") } }
      harness.queue.start()
      await harness.queue.hasLookedAround()
      await harness.clock.waitForSleeper()
      harness.clock.advance(by: .seconds(61))
      await told.wait(forCount: 1)
      // No process may write from here on.
      let other = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
      try other.execute("BEGIN IMMEDIATE")
      for _ in 0..<20 {
        await harness.clock.waitForSleeper()
        harness.clock.advance(by: .seconds(5))
        await harness.queue.hasLookedAround()
      }
      try other.execute("ROLLBACK")
      await harness.queue.stop()
      listening.cancel()
      #expect(Set(told.events) == ["databaseFailed"])
    }
  }

  @Test(arguments: Engine.available) func unreadablePeriodicJob_isTold_andTheOthersGoOn(on engine: Engine) async throws
  {
    let harness = try Harness(engine.location())
    let seen = try runner(harness)
    let events = harness.queue.events(bufferingPolicy: .unbounded)
    for name in ["a", "b", "c"] {
      try await harness.queue.schedule(
        Count(number: 1), named: name, .interval(.seconds(60), startingAt: harness.start), catchUp: .all)
    }
    try await harness.queue.transaction {
      _ = try $0.execute(
        "UPDATE \(engine.table("periodic")) SET schedule = replace(schedule, 'every', 'eery') WHERE name = 'b'")
    }
    try await harness.queue.register(Send.self) { _, _ in BlockOperation {} }
    let later = try await harness.queue.enqueue(Send(text: "x"), options: JobOptions(start: .after(.seconds(30))))
    harness.queue.start()
    await harness.advance(by: .seconds(61), until: .done, of: later)
    // Those of later times may have come by then.
    await seen.wait { times in times.count { $0 == 60 } >= 2 }
    #expect(seen.events.count { $0 == 60 } == 2)
    #expect(await texts(of: events, through: "databaseFailed statement").count > 1)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func unreadablePeriodicJob_othersComeAtTheirTimes_andItIsToldNowAndThen(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location(listens: false)) { $0.pollInterval = nil }
    let (queue, clock) = (harness.queue, harness.clock)
    let seen = try runner(harness), told = EventRecorder<String>()
    try await queue.register(Send.self) { _, _ in BlockOperation {} }
    try await queue.schedule(Count(number: 1), named: "a", .interval(.milliseconds(1), startingAt: harness.start))
    try await queue.transaction {
      _ = try $0.execute("UPDATE \(engine.table("periodic")) SET schedule = replace(schedule, 'every', 'eery')")
    }
    try await queue.schedule(Count(number: 1), named: "b", .interval(.seconds(7), startingAt: harness.start))
    clock.advance(by: .milliseconds(1))
    queue.report(to: FailureSink(told: told))
    queue.start()
    await told.wait(forCount: 1)
    await queue.hasLookedAround()
    let later = try await queue.enqueue(Send(text: "later"), options: JobOptions(start: .after(.milliseconds(100))))
    for _ in 0..<10 {
      #expect(try await queue.job(later)?.state == .scheduled)
      clock.advance(by: .milliseconds(10))
      await queue.hasLookedAround()
    }
    #expect(try await queue.job(later)?.state != .scheduled)
    await harness.wait(for: .done, of: later)
    await queue.hasNothingUnderWay()
    // The ends of jobs do not make it look again at once.
    for _ in 0..<9 {
      let id = try await queue.enqueue(Send(text: "now"))
      await harness.wait(for: .done, of: id)
      // Not before the round that has written the end has set its alarm.
      await queue.hasNothingUnderWay()
      clock.advance(by: .milliseconds(10))
      await queue.hasLookedAround()
    }
    #expect(told.events.count == 1)
    for _ in 0..<13 {
      clock.advance(by: .milliseconds(500))
      await queue.hasLookedAround()
    }
    #expect(told.events.count == 2)
    #expect(seen.events == [])
    clock.advance(by: .milliseconds(309))
    await queue.hasLookedAround()
    await seen.wait(forCount: 1)
    #expect(seen.events == [7])
    await queue.stop()
  }

  @Test(arguments: Engine.available) func unreadablePeriodicJob_othersThatMissedManyTimes_areCaughtUpAtOnce(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location(listens: false)) { $0.pollInterval = nil }
    let queue = harness.queue, count = 1100
    for name in ["a", "b"] {
      try await queue.schedule(
        Count(number: 1), named: name, .interval(.seconds(1), startingAt: harness.start), catchUp: .all)
    }
    try await queue.transaction {
      _ = try $0.execute("UPDATE \(engine.table("periodic")) SET options = 'x' WHERE name = 'a'")
    }
    harness.clock.advance(by: .seconds(count))
    queue.start()
    // A millisecond from look to look, not the seconds after which the failed one is tried again.
    for _ in 0..<20 {
      await queue.hasLookedAround()
      harness.clock.advance(by: .milliseconds(1))
    }
    #expect(try await queue.counts().total == count)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func unreadablePeriodicJob_thatIsScheduledAnew_isNoFailureAnyMore(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location(listens: false)) { $0.pollInterval = nil }
    let queue = harness.queue, seen = try runner(harness), told = EventRecorder<String>()
    let schedule = JobSchedule.interval(.seconds(60), startingAt: harness.start)
    try await queue.schedule(Count(number: 1), named: "a", schedule)
    try await queue.transaction { _ = try $0.execute("UPDATE \(engine.table("periodic")) SET options = 'x'") }
    harness.clock.advance(by: .seconds(60))
    queue.report(to: FailureSink(told: told))
    queue.start()
    await told.wait(forCount: 1)
    await queue.hasLookedAround()
    // Keeps its time, which has passed.
    try await queue.schedule(Count(number: 1), named: "a", schedule)
    harness.clock.advance(by: .seconds(5))
    await seen.wait(forCount: 1)
    #expect(seen.events == [60])
    try await queue.waitUntilIdle()
    #expect(queue.core.withLock { $0.watch.periodicFailedAt } == nil)
    #expect(told.events.count == 1)
    await queue.stop()
  }
}

/// Records each failure of the database.
private struct FailureSink: TelemetrySink {
  let told: EventRecorder<String>

  func receive(_ event: TelemetryEvent) {
    if event.kind.rawValue == "databaseFailed" { told.record(event.kind.rawValue) }
  }
}
