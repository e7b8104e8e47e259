import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-13: the work of an idle queue.
@Suite(.timeLimit(.minutes(30))) struct IdleTests {
  @Test func idleQueue_writesNothing() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file))
      try await harness.queue.register(Count.self) { _, _ async throws in }
      harness.queue.start()
      let id = try await harness.queue.enqueue(Count(number: 1))
      _ = try await harness.queue.waitUntilSettled(id)
      // It leaves those that run jobs.
      while !(try harness.rows("SELECT 1 FROM durable_workers").isEmpty) {
        harness.clock.advance(by: .seconds(1))
        await harness.queue.hasLookedAround()
      }
      let log = URL(filePath: file.path + "-wal")
      let before = try Data(contentsOf: log)
      for _ in 0..<120 {
        harness.clock.advance(by: .seconds(1))
        await harness.queue.hasLookedAround()
      }
      #expect(try Data(contentsOf: log) == before)
      // And is one of them again when there is a job.
      let second = try await harness.queue.enqueue(Count(number: 2))
      #expect(try await harness.queue.waitUntilSettled(second)?.state == .done)
      await harness.queue.stop()
    }
  }

  #if os(macOS) || os(Linux)
  /// Also if the program reads its events, which would report unknown kinds.
  @Test(.needsPostgres) func idleQueue_onAServer_asksOnceALook() async throws {
    let schema = try await TestSchema(), proxy = try PostgresProxy(to: schema.server.port), clock = ManualClock()
    var options = schema.options(), configuration = DurableQueue.Configuration()
    options.listens = .no
    configuration.clock = JobClock(clock)
    configuration.retention = .forever
    let queue = try await schema.queue(options, port: proxy.port, configuration)
    let events = queue.events()
    try await queue.register(Count.self) { _, _ async throws in }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    _ = try await queue.waitUntilSettled(id)
    func look() async {
      clock.advance(by: .seconds(1))
      await queue.hasLookedAround()
    }
    let inspection = try await schema.inspection()
    while try inspection.number("SELECT count(*) FROM workers") > 0 { await look() }
    await look()
    // What a look asks beside the first question would be asked behind the alarm that ends it.
    proxy.letPass()
    for _ in 0..<50 { await look() }
    _ = try await queue.job(id)
    #expect(proxy.roundTrips == 51)
    await queue.stop()
    withExtendedLifetime(events) {}
  }
  #endif

  @Test func idleQueue_thatDoesNotPoll_setsNoTimer_andRunsWhatComes() async throws {
    let harness = try Harness {
      $0.pollInterval = nil
      $0.retention = .forever
    }
    try await harness.queue.register(Count.self) { _, _ async throws in }
    harness.queue.start()
    await harness.clock.waitUntilIdle()
    let id = try await harness.queue.enqueue(Count(number: 1))
    #expect(try await harness.queue.waitUntilSettled(id)?.state == .done)
    let later = try await harness.queue.enqueue(Count(number: 2), options: JobOptions(start: .after(.seconds(100))))
    // The alarm for the lease may come first.
    await harness.advance(by: .seconds(100), until: .done, of: later)
    // Its lease goes with the jobs.
    while !harness.queue.core.withLock({ $0.alarm == nil }), !Task.isCancelled {
      harness.clock.advance(by: .seconds(20))
      await Task.yield()
    }
    await harness.queue.stop()
  }

  @Test func queueThatDoesNotPoll_deletesWhatWasDone_inTime() async throws {
    let harness = try Harness {
      $0.pollInterval = nil
      $0.retention = .keep(.seconds(3600))
    }
    try await harness.queue.register(Count.self) { _, _ async throws in }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    _ = try await harness.queue.waitUntilSettled(id)
    while try await harness.queue.job(id) != nil, !Task.isCancelled {
      harness.clock.advance(by: .seconds(30))
      await Task.yield()
    }
    #expect(harness.clock.now.offset >= .seconds(3600))
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func queueThatDoesNotPoll_andKeepsNothing_deletesWhatWasCancelled(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location()) {
      $0.pollInterval = nil
      $0.retention = .none
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(startsHeld: true))
    try await harness.queue.cancel(id)
    while try await harness.queue.job(id) != nil, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    await harness.queue.stop()
  }
}

extension Harness {
  fileprivate func rows(_ sql: String) throws -> [SQLRow] {
    try queue.core.reader.withSQLite { try $0.connection.execute(sql) }
  }
}
