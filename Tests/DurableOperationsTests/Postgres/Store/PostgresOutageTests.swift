#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A server that cannot be reached for a while.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresOutageTests {
  private func queue(
    _ server: PostgresServer, _ change: (inout DurableQueue.Configuration) -> Void = { _ in }
  ) throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(50)
    change(&configuration)
    let options = PostgresOptions(statementTimeout: .seconds(1200))
    return try DurableQueue(location: .postgres(server.url(), options), configuration: configuration)
  }

  @Test func serverIsGoneForAWhile_isToldOnce_andWhatEndedMeanwhileIsWritten() async throws {
    let server = try await PostgresServer.own(), started = Gate(), proceed = Gate()
    let queue = try queue(server)
    let told = EventRecorder<JobEvent.Kind>()
    let events = queue.events()
    let reader = Task {
      for await event in events where [.databaseFailed, .databaseBack, .done].contains(event.kind) {
        told.record(event.kind)
      }
    }
    try await queue.register(Count.self) { job, _ async throws in
      started.open()
      await proceed.wait()
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await started.wait()
    try await server.stop()
    await told.wait(forCount: 1)
    // It ends while that cannot be written.
    proceed.open()
    await until(queue.core.withLock { $0.failuresInARow > 0 })
    await #expect { try await queue.enqueue(Count(number: 2)) } throws: {
      ($0 as? DatabaseError)?.code == .cannotConnect && ($0 as? DatabaseError)?.engine == .postgres
    }
    try await server.start()
    #expect(try await queue.core.patientlySettled(id)?.state == .done)
    await told.wait(forCount: 3)
    // Whether a look or the round that writes the end comes first is not known.
    #expect(told.events.first == .databaseFailed && told.events.count == 3)
    #expect(Set(told.events) == [.databaseFailed, .databaseBack, .done])
    #expect(try await queue.job(id)?.attempts == 1)
    await queue.stop()
    reader.cancel()
  }

  @Test func serverIsGone_theGeneratorOfThePauseMayAskTheQueue() async throws {
    let server = try await PostgresServer.own(), started = Gate(), proceed = Gate()
    let box = LockBox<DurableQueue?>(nil), asked = EventRecorder<[String]>()
    let queue = try queue(server) {
      $0.randomNumberGenerator = {
        if let queue = box.withLock({ $0 }) { asked.record(queue.registeredKinds) }
        return SystemRandomNumberGenerator()
      }
    }
    box.withLock { $0 = queue }
    try await queue.register(Count.self) { _, _ async throws in
      started.open()
      await proceed.wait()
    }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await started.wait()
    try await server.stop()
    // The end of the job cannot be written, so the round fails.
    proceed.open()
    await asked.wait(forCount: 1)
    try await server.start()
    await queue.stop()
    box.withLock { $0 = nil }
  }

  /// What is owed can be given back neither then nor when the queue goes on.
  @Test func suspendedAndResumed_whileTheServerIsGone_isToldOnce() async throws {
    let server = try await PostgresServer.own(), started = Gate(), proceed = Gate()
    let queue = try queue(server)
    let told = EventRecorder<JobEvent.Kind>()
    let events = queue.events()
    let reader = Task {
      for await event in events where [.databaseFailed, .databaseBack].contains(event.kind) {
        told.record(event.kind)
      }
    }
    try await queue.register(Count.self) { _, _ async throws in
      started.open()
      await proceed.wait()
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await started.wait()
    try await server.stop()
    await told.wait(forCount: 1)
    await queue.suspend()
    proceed.open()
    queue.resume()
    // Behind what it tries at once.
    await withCheckedContinuation { continuation in
      queue.core.database.async { _ in continuation.resume() }
    }
    try await server.start()
    await told.wait(forCount: 2)
    #expect(told.events == [.databaseFailed, .databaseBack])
    #expect(try await queue.core.patientlySettled(id)?.state == .done)
    await queue.stop()
    reader.cancel()
  }

  /// It answers looks, which must not be taken for the end of the outage.
  @Test func serverIsAStandbyForAWhile_isToldOnce() async throws {
    let server = try await PostgresServer.own()
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(50)
    let url = server.url() + "&target_session_attrs=any"
    let queue = try DurableQueue(
      location: .postgres(url, PostgresOptions(statementTimeout: .seconds(1200))), configuration: configuration)
    let told = EventRecorder<JobEvent.Kind>()
    let events = queue.events()
    let reader = Task {
      for await event in events where [.databaseFailed, .databaseBack, .done].contains(event.kind) {
        told.record(event.kind)
      }
    }
    try await queue.register(Count.self) { _, _ async throws in }
    queue.start()
    try await server.stop()
    await told.wait(forCount: 1)
    try await server.start(asStandby: true)
    await #expect { try await queue.enqueue(Count(number: 1)) } throws: {
      ($0 as? DatabaseError)?.code == .serverReadOnly
    }
    // Some looks, and what each of them tries.
    let last = "SELECT max(state_change) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'durable'"
    var seen: Set<String> = []
    var turns = Turns()
    while seen.count < 20, !Task.isCancelled {
      if let time = try? server.query(last), !time.isEmpty { seen.insert(time) }
      await turns.next()
    }
    try await server.promote()
    await told.wait(forCount: 2)
    let id = try await queue.enqueue(Count(number: 2))
    #expect(try await queue.core.patientlySettled(id)?.state == .done)
    await told.wait(forCount: 3)
    #expect(told.events == [.databaseFailed, .databaseBack, .done])
    await queue.stop()
    reader.cancel()
  }

  @Test func serverIsGoneForLongerThanALease_whatRunsIsCancelledIfItIsToBe() async throws {
    let server = try await PostgresServer.own(), clock = ManualClock()
    let queue = try queue(server) {
      $0.whenDisconnected = .cancelAfterLease
      $0.clock = JobClock(clock)
    }
    let never = NeverFinishingOperation<Void>()
    try await queue.register(Count.self) { _, _ in never }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await never.started.wait()
    try await server.stop()
    // That it is gone is noticed by a look, and the lease is counted from then.
    try await advance(clock) { await never.cancelRequested.wait() }
    try await server.start()
    // What fails until the connections are back is tried again by the clock.
    try await advance(clock) { await queue.stop(grace: .zero) }
  }

  /// No other process is there to take it over. The ends from before are written, and those jobs
  /// are not returned with it.
  @Test func serverIsBackAfterALease_whatWasCancelledRunsAgain_andWhatEndedDoesNot() async throws {
    let server = try await PostgresServer.own(), clock = ManualClock(), ran = EventRecorder<Int>()
    let queue = try queue(server) {
      $0.whenDisconnected = .cancelAfterLease
      $0.clock = JobClock(clock)
    }
    let events = queue.events()
    let cancelled = HeldOperation<Void>(settlesWhenCancelled: true), ended = HeldOperation<Void>()
    try await queue.register(Count.self) { job, _ in
      ran.record(job.number)
      return job.number == 0 ? ended : cancelled.isFinished ? BlockOperation {} : cancelled
    }
    queue.start()
    let ids = try await queue.enqueue(contentsOf: [Count(number: 0), Count(number: 1)])
    await ended.started.wait()
    await cancelled.started.wait()
    try await server.stop()
    ended.finish()
    try await advance(clock) { await cancelled.cancelRequested.wait() }
    try await server.start()
    try await advance(clock) { await ran.wait(forCount: 3) }
    // The time goes on fast: the grace must not be over before the last attempt is.
    try await advance(clock) { await queue.stop(grace: .seconds(1_000_000)) }
    #expect(ran.events.sorted() == [0, 1, 1])
    for id in ids { #expect(try await queue.job(id)?.state == .done) }
    queue.core.events.end()
    var lost: [[JobID]] = []
    for await event in events where event.kind == .leaseLost { lost.append(event.jobIDs) }
    #expect(!lost.isEmpty && lost.allSatisfy { $0 == [ids[1]] }, "\(lost)")
  }

  /// Has the time go on until something is over.
  private func advance(_ clock: ManualClock, until body: @escaping @Sendable () async -> Void) async throws {
    let isOver = Flag()
    let task = Task {
      await body()
      isOver.set()
    }
    while !isOver.isSet {
      try Task.checkCancellation()
      clock.advance(by: .milliseconds(50))
      await Task.yield()
    }
    await task.value
  }

  // MARK: - Values

  /// A server without a place for one more connection, for example.
  @Test func callsOfTheUserFindNoConnection_looksStayConnected() throws {
    let store = PostgresStore(
      PostgresConfiguration(url: "postgresql:///none"), place: "none", options: PostgresOptions(),
      configuration: DurableQueue.Configuration(), events: EventHub())
    defer { store.close() }
    let start = ContinuousClock.now
    store.state.withLock { $0.connectedSince = start }
    let full = PostgresConnectionPool(store.callers.configuration, maxConnections: 1) {
      .failure(PostgresError(.cannotConnect, sqlState: "53300", message: "it has too many clients"))
    }
    defer { full.close() }
    let code = databaseErrorCode { try PostgresSession(store, pool: full).use { _ in } }
    #expect(code == .cannotConnect)
    #expect(store.state.withLock { $0.connectedSince } == start)
  }

  @Test func callsOfTheUserSucceed_looksAreNotConnectedByThat() throws {
    let harness = try StoreHarness(on: .postgres)
    let store = try #require(harness.access as? PostgresAccess).store
    #expect(store.state.withLock { $0.connectedSince } == nil)
    try PostgresSession(store, pool: store.rounds).use { _ in }
    #expect(store.state.withLock { $0.connectedSince } != nil)
  }

  @Test func outage_ofAServer_isToldOnceUntilItIsOver() {
    var outage = Outage()
    let lost = DatabaseError(.connectionLost, engine: .postgres, message: "it went", path: "here")
    let gone = DatabaseError(.cannotConnect, engine: .postgres, message: "it is gone", path: "here")
    let wrong = DatabaseError(.statement, engine: .postgres, message: "it is wrong", path: "here")
    #expect(outage.succeeded(takesChanges: false) == nil)
    #expect(outage.failed(with: lost, in: .look) == .begin(.noServer))
    #expect(outage.failed(with: gone, in: .look) == .known)
    #expect(outage.failed(with: wrong, in: .look) == .log)
    #expect(outage.succeeded(takesChanges: true) == .noServer)
    #expect(outage.succeeded(takesChanges: true) == nil)
    #expect(outage.failed(with: gone, in: .look) == .begin(.noServer))
    #expect(outage.number == 2)
  }

  @Test func outage_ofAServerThatTakesNoChanges_isNotOverWithAnAnswer() {
    var outage = Outage()
    let lost = DatabaseError(.connectionLost, engine: .postgres, message: "it went", path: "here")
    let standby = DatabaseError(.serverReadOnly, engine: .postgres, message: "it is a standby", path: "here")
    #expect(outage.failed(with: lost, in: .look) == .begin(.noServer))
    // A standby answers as well.
    #expect(outage.succeeded(takesChanges: false) == nil)
    #expect(outage.failed(with: standby, in: .look) == .known)
    #expect(outage.succeeded(takesChanges: false) == nil)
    #expect(outage.failed(with: lost, in: .look) == .known)
    #expect(outage.succeeded(takesChanges: true) == .noServer)
    #expect(outage.failed(with: standby, in: .look) == .begin(.noServer))
  }
}

extension QueueCore {
  /// Waits for a job though the server may not be back yet.
  fileprivate func patientlySettled(_ id: JobID) async throws -> JobRecord? {
    var turns = Turns()
    while true {
      do {
        try await waitUntilSettled(id)
        return try await reader.run { try $0.record(id) }
      } catch let error as DatabaseError where error.code == .cannotConnect || error.code == .connectionLost {
        await turns.next()
      }
    }
  }
}
#endif
