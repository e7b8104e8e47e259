#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Queues that never look: what others do they only hear.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresWakeUpTests {
  private func queues(
    _ count: Int = 2, _ change: (inout PostgresOptions) -> Void = { _ in }
  ) throws -> [DurableQueue] {
    guard case .postgres(let url, var options) = try Engine.postgres.location() else { return [] }
    change(&options)
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = nil
    return try (0..<count).map { _ in
      try DurableQueue(location: .postgres(url, options), configuration: configuration)
    }
  }

  private func store(of queue: DurableQueue) throws -> PostgresStore {
    try #require(queue.core.database as? PostgresAccess).store
  }

  /// Asks how many sessions listen for a queue.
  private func listening(_ queue: DurableQueue) throws -> String {
    let schema = try store(of: queue).options.schema
    return "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"\(schema)\"'"
  }

  @Test func enqueuedByAnotherProcess_startsAtOnce() async throws {
    let queues = try queues(), ran = EventRecorder<Int>()
    try await queues[0].register(Count.self) { job, _ async throws in ran.record(job.number) }
    queues[0].start()
    for number in 0..<20 {
      try await queues[1].enqueue(Count(number: number))
      await ran.wait(forCount: number + 1)
    }
    await queues[0].stop()
  }

  @Test func prerequisiteIsDoneElsewhere_dependentStartsAtOnce() async throws {
    let queues = try queues(3), ran = EventRecorder<String>()
    try await queues[0].register(Count.self) { _, _ async throws in }
    try await queues[1].register(Send.self) { job, _ async throws in ran.record(job.text) }
    for queue in queues { queue.start() }
    try await queues[2].enqueue(contentsOf: [
      JobRequest(Send(text: "after"), options: JobOptions(dependsOn: [.inSameCall(1)])),
      JobRequest(Count(number: 1)),
    ])
    await ran.wait(forCount: 1)
    for queue in queues { await queue.stop() }
  }

  @Test func cancelledByAnotherProcess_operationIsCancelledAtOnce() async throws {
    let queues = try queues(), never = NeverFinishingOperation<Void>()
    try await queues[0].register(Count.self) { _, _ in never }
    queues[0].start()
    let id = try await queues[1].enqueue(Count(number: 1))
    await never.started.wait()
    try await queues[1].cancel(id)
    await never.cancelRequested.wait()
    await queues[0].stop()
  }

  /// Calls beside a round may see what it has claimed before the queue does.
  @Test func cancelledBeforeItsClaimIsTakenIn_isCancelledAtOnce() async throws {
    let cancels = LockBox<(@Sendable () -> Void)?>(nil)
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(ManualClock())
    configuration.maxConcurrentOperationCount = 1
    configuration.logHandler = { event in
      guard event.kind == .dead, let cancel = cancels.withLock({ $0.take() }) else { return }
      // The round that has written this is committed, and has claimed the other job.
      let isOver = DispatchGroup()
      DispatchQueue.global().async(group: isOver) { cancel() }
      isOver.wait()
    }
    let queue = try DurableQueue(location: Engine.postgres.location(listens: false), configuration: configuration)
    try await queue.register(Send.self) { _, _ async throws in throw TestFailure() }
    try await queue.register(Count.self) { _, _ in HeldOperation<Void>(settlesWhenCancelled: true) }
    try await queue.enqueue(
      Send(text: "first"), options: JobOptions(priority: JobPriority(major: 20), maxAttempts: 1))
    let id = try await queue.enqueue(Count(number: 1))
    cancels.withLock {
      $0 = {
        do { try queue.cancel(id) } catch { Issue.record(error) }
      }
    }
    queue.start()
    #expect(try await queue.waitUntilSettled(id)?.state == .cancelled)
    await queue.stop()
  }

  @Test func kindIsResumedByAnotherProcess_itsJobStartsAtOnce() async throws {
    let queues = try queues(), ran = EventRecorder<Int>()
    try await queues[1].pause(kind: "count")
    try await queues[1].enqueue(Count(number: 1))
    try await queues[0].register(Count.self) { job, _ async throws in ran.record(job.number) }
    queues[0].start()
    #expect(try await queues[0].counts()[.waiting] == 1)
    // It looks when it begins to listen, and not again.
    let server = try await PostgresServer.shared, listening = try listening(queues[0])
    await until((try? server.query(listening)) == "1")
    await queues[0].hasPumped { !$0.rules.paused.isEmpty && !$0.isInRound }
    try await queues[1].resume(kind: "count")
    await ran.wait(forCount: 1)
    await queues[0].stop()
  }

  /// What a look has read may be older than what calls beside it have written.
  @Test func kindIsResumedBesideALook_itsJobStarts() async throws {
    let schema = try await TestSchema(), proxy = try PostgresProxy(to: schema.server.port)
    var options = schema.options()
    options.listens = .no
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(ManualClock())
    let queue = try await schema.queue(options, port: proxy.port, configuration)
    let ran = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ async throws in ran.record(job.number) }
    try await queue.pause(kind: "count")
    try await queue.enqueue(Count(number: 1))
    proxy.hold(behind: "look_rules")
    queue.start()
    await until(proxy.isHolding)
    try await queue.resume(kind: "count")
    proxy.letPass()
    await ran.wait(forCount: 1)
    await queue.stop()
  }

  @Test func kindWasPausedElsewhereUnnoticed_andIsResumedHere_itsJobStarts() async throws {
    let location = try Engine.postgres.location(listens: false), ran = EventRecorder<Int>()
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(ManualClock())
    let queues = try (0..<2).map { _ in try DurableQueue(location: location, configuration: configuration) }
    try await queues[0].register(Count.self) { job, _ async throws in ran.record(job.number) }
    queues[0].start()
    await queues[0].hasLookedAround()
    try await queues[1].pause(kind: "count")
    try await queues[0].enqueue(Count(number: 1))
    await queues[0].hasPumped { $0.kinds.values.allSatisfy { !$0.mayHaveWork } && !$0.isInRound }
    try await queues[0].resume(kind: "count")
    await ran.wait(forCount: 1)
    await queues[0].stop()
  }

  @Test func jobIsLockedByAnother_isNotAskedForAllTheTime_andStartsWhenTheLockIsGone() async throws {
    let schema = try await TestSchema(), ran = EventRecorder<Int>()
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = nil
    let queue = try await schema.queue(schema.options(), configuration)
    try await queue.register(Count.self) { job, _ async throws in ran.record(job.number) }
    try await queue.enqueue(Count(number: 1))
    let inspection = try await schema.inspection(), other = try await schema.inspection()
    try other.execute("BEGIN")
    try other.execute("SELECT 1 FROM jobs FOR UPDATE")
    let start = ContinuousClock.now
    queue.start()
    let rounds = "SELECT coalesce(sum(number), 0)::bigint FROM rounds"
    await until(((try? inspection.number(rounds)) ?? 0) >= 8)
    // It asks again a tenth of a second later; the start and the listener ask, too.
    let asked = try inspection.number(rounds), most = Int64((ContinuousClock.now - start) / .milliseconds(80)) + 4
    #expect(asked <= most)
    try other.execute("ROLLBACK")
    await ran.wait(forCount: 1)
    await queue.stop()
  }

  @Test func listenerIsLost_listensAgain_andLooksForWhatItMissed() async throws {
    let queues = try queues(), ran = EventRecorder<Int>()
    try await queues[0].register(Count.self) { job, _ async throws in ran.record(job.number) }
    queues[0].start()
    let server = try await PostgresServer.shared, listening = try listening(queues[0])
    for number in 0..<5 {
      await until((try? server.query(listening)) == "1")
      // The listener's last words may still be on their way when the job is enqueued.
      try server.query(listening.replacing("count(*)", with: "pg_terminate_backend(pid)"))
      try await queues[1].enqueue(Count(number: number))
      await ran.wait(forCount: number + 1)
    }
    await queues[0].stop()
  }

  /// No process hears what it notifies others of.
  @Test(arguments: [true, false]) func enqueued_andTheAnswerIsLost_startsAtOnce(_ listens: Bool) async throws {
    let schema = try await TestSchema(), proxy = try PostgresProxy(to: schema.server.port)
    var options = schema.options()
    options.listens = listens ? .at(schema.url()) : .no
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(ManualClock())
    configuration.pollInterval = nil
    let queue = try await schema.queue(options, port: proxy.port, configuration)
    let ran = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ async throws in ran.record(job.number) }
    // From here on, calls have a connection.
    try await onWorker { Result { _ = try queue.enqueue(Count(number: 1)) } }.get()
    queue.start()
    await ran.wait(forCount: 1)
    let server = try await PostgresServer.shared, listening = try listening(queue)
    if listens { await until((try? server.query(listening)) == "1") }
    await queue.hasPumped { $0.kinds.values.allSatisfy { !$0.mayHaveWork } && !$0.isInRound && $0.runningCount == 0 }
    await queue.hasNothingUnderWay()
    var (number, error): (Int, DatabaseError?) = (1, nil)
    // The cut may meet a last look instead.
    while error == nil {
      number += 1
      proxy.cut(.fromServer, after: 0)
      error = await onWorker { [number] in
        do {
          try queue.enqueue(Count(number: number))
          return nil
        } catch {
          return error as? DatabaseError
        }
      }
    }
    #expect(error?.code == .outcomeUnknown)
    await ran.wait(forCount: number)
    #expect(ran.events.sorted() == Array(1...number))
    await queue.stop()
  }

  @Test func doesNotListen_seesItInTheNextLook() async throws {
    guard case .postgres(let url, var options) = try Engine.postgres.location() else { return }
    options.listens = .no
    let harness = try Harness(.postgres(url, options)), ran = EventRecorder<Int>()
    try await harness.queue.register(Count.self) { job, _ async throws in ran.record(job.number) }
    harness.queue.start()
    let other = try DurableQueue(location: .postgres(url, options))
    let id = try await other.enqueue(Count(number: 1))
    await harness.advance(by: .seconds(1), until: .done, of: id)
    #expect(ran.events == [1])
    await harness.queue.stop()
  }

  // MARK: - Values

  @Test func news_whileOneWasJustSent_waitAndGoTogether() {
    var state = PostgresNotifierState()
    #expect(state.add(StoreNews()) == nil)
    #expect(state.add(StoreNews(lanes: [4])) == StoreNews(lanes: [4]))
    #expect(state.add(StoreNews(lanes: [8])) == nil)
    #expect(state.add(StoreNews(lanes: [4], hasCancelRequests: true)) == nil)
    #expect(state.pauseIsOver() == StoreNews(lanes: [4, 8], hasCancelRequests: true))
    #expect(state.pauseIsOver() == nil)
    #expect(state.add(StoreNews(lanes: [12])) == StoreNews(lanes: [12]))
  }

  @Test func payload_comesBackAsItWas_orAsAll() {
    for news in [
      StoreNews(lanes: [4, 16]), StoreNews(hasCancelRequests: true), StoreNews(lanes: [5], hasCancelRequests: true),
    ] {
      #expect(StoreNews(payload: news.payload) == news)
    }
    let many = StoreNews(lanes: Set((0..<3000).map { Int64($0) << 20 }))
    #expect(StoreNews(payload: many.payload) == StoreNews(isIncomplete: true))
    #expect(StoreNews(payload: "what a newer version says").isIncomplete)
  }
}
#endif
