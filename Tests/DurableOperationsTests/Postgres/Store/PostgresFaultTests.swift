#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Connections that break, servers that fall silent, and clients that keep locks.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresFaultTests {
  private func queue(
    _ schema: TestSchema, port: UInt16? = nil, maxConnections: Int = 4, timeout: Duration = .seconds(1200),
    _ change: (inout DurableQueue.Configuration) -> Void = { _ in }
  ) async throws -> DurableQueue {
    var options = schema.options(statementTimeout: timeout)
    options.maxConnections = maxConnections
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(600)
    configuration.retention = .forever
    change(&configuration)
    return try await schema.queue(options, port: port, configuration)
  }

  private func access(
    _ schema: TestSchema, port: UInt16? = nil, timeout: Duration = .seconds(1200)
  ) async throws -> PostgresAccess {
    let queue = try await queue(schema, port: port, timeout: timeout)
    return try #require(queue.core.database as? PostgresAccess)
  }

  // MARK: - Connections that break

  @Test(arguments: 1...3)
  func connectionsBreak_duringCallsThatHoldAllOfThem_areReplaced(maxConnections: Int) async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let queue = try await queue(schema, port: proxy.port, maxConnections: maxConnections)
    let id = try await queue.enqueue(Count(number: 1))
    let held = max(maxConnections - 1, 1)
    // All of them are in use when they break: each call needs another one.
    let started = Gate(), proceed = Gate(), count = Locked(0)
    try await withThrowingTaskGroup(of: JobState?.self) { group in
      for _ in 0..<held {
        group.addTask {
          try await queue.core.reader.run { session in
            // It borrows, and does not give back before it is over.
            _ = try session.state(of: id)
            if count.increment() == held { started.open() }
            proceed.waitBlocking()
            return try session.state(of: id)
          }
        }
      }
      await started.wait()
      proxy.cutAll()
      proceed.open()
      for try await state in group { #expect(state == .waiting) }
    }
  }

  @Test(arguments: [true, false])
  func completion_whoseCommitIsCutAnywhere_isSaidTruly(keepsDone: Bool) async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let inspection = try await schema.inspection()
    let queue = try await queue(schema, port: proxy.port) {
      $0.retention = keepsDone ? .forever : .none
      $0.maxConcurrentOperationCount = 1
    }
    try inspection.execute("CREATE TABLE effects (number bigint NOT NULL)")
    let effects = "INSERT INTO \(PostgresStatement.identifier(schema.name)).effects VALUES (?)"
    let runs = Locked<[Int: Int]>([:])
    try await queue.register(Count.self) { job, context async throws in
      let isFirst = runs.withLock { runs in
        runs[job.number, default: 0] += 1
        return runs[job.number] == 1
      }
      do {
        try await context.complete { db in
          try db.execute(effects, .integer(Int64(job.number)))
          let (side, place): (PostgresProxy.Side, Int) =
            job.number < 1000 ? (.fromClient, job.number) : (.fromServer, job.number - 1000)
          if isFirst { proxy.cut(side, after: place) }
        }
        proxy.letPass()
      } catch {
        proxy.letPass()
        throw error
      }
    }
    let events = queue.events()
    queue.start()
    // Through all that comes behind the closure.
    let numbers = Array(stride(from: 0, to: 420, by: 20)) + Array(stride(from: 1000, to: 1260, by: 6))
    for number in numbers {
      // One after the other: the cut is for its connection.
      let id = try await queue.enqueue(Count(number: number), options: JobOptions(backoff: .noDelay))
      _ = try await queue.waitUntilSettled(id)
    }
    await queue.stop()
    queue.core.events.end()
    var lost = 0
    for await event in events where event.kind == .leaseLost { lost += 1 }
    #expect(lost == 0)
    // Once, also where it was said that it was not done, and it ran again.
    #expect(try inspection.numbers("SELECT number FROM effects ORDER BY number") == numbers.map(Int64.init))
    let again = runs.withLock { $0.values.count { $0 > 1 } }
    #expect(again > 0 && again < numbers.count, "some of the cuts came before it was stored, and some after")
    if keepsDone { #expect(try inspection.count(in: .done) == numbers.count) }
  }

  // MARK: - What comes late

  @Test func roundThatComesLate_isRefused() async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let inspection = try await schema.inspection()
    let trial = try await onWorker { Result { try RoundTrial(schema, port: proxy.port, timeout: .seconds(10)) } }.get()
    let process = try await onWorker {
      Result {
        let ids = try trial.enqueue(JobOptions(), JobOptions(), JobOptions())
        trial.round(limit: 1)
        let process = try trial.access.store.rounds.sync { $0.serverProcess }
        // Not a byte of it arrives, for now.
        proxy.cut(.fromClient, after: 0, by: .holds)
        trial.round([trial.end(ids[0])], limit: 1)
        trial.round([trial.end(ids[1])], limit: 1)
        return process
      }
    }.get()
    #expect(proxy.isHolding)
    let before = try inspection.text("SELECT string_agg(jobs::text, ' ' ORDER BY id) FROM jobs")
    #expect(try inspection.number("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == 1)
    proxy.letPass()
    // The server has done with it when it has seen that the client is gone.
    try await inspection.wait { try $0.number("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == 0 }
    #expect(try inspection.text("SELECT string_agg(jobs::text, ' ' ORDER BY id) FROM jobs") == before)
    #expect(trial.lostWorkers == 0)
    #expect(trial.claimed.map(\.id.rawValue) == [1, 2, 3])
    let told = await trial.told()
    #expect(told == [JobID(rawValue: 1): [.done], JobID(rawValue: 2): [.done]])
  }

  @Test func networkIsSilent_callsEndAfterTheTimeout_andAllGoesOnAfterwards() async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    var options = schema.options(statementTimeout: .seconds(10))
    options.listens = .no
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(50)
    let url = schema.url(port: proxy.port) + "&connect_timeout=10"
    let queue = try await onWorker { [configuration, options] in
      Result { try DurableQueue(location: .postgres(url, options), configuration: configuration) }
    }.get()
    let runs = Locked<[Int: Int]>([:]), proceed = Gate(), started = Gate()
    try await queue.register(Count.self) { job, _ async throws in
      runs.withLock { $0[job.number, default: 0] += 1 }
      started.open()
      await proceed.wait()
    }
    let told = EventRecorder<JobEvent.Kind>()
    let events = queue.events()
    let reader = Task { for await event in events { told.record(event.kind) } }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await started.wait()
    proxy.setSilent(true)
    // What runs ends meanwhile.
    proceed.open()
    let codes = Locked<[DatabaseError.Code]>([])
    for number in 2...3 {
      do {
        try await queue.enqueue(Count(number: number))
      } catch let error as DatabaseError {
        codes.withLock { $0.append(error.code) }
      }
    }
    #expect(codes.current.count == 2)
    #expect(
      codes.current.allSatisfy { [.connectionLost, .outcomeUnknown, .cannotConnect].contains($0) }, "\(codes.current)")
    await told.wait { $0.contains(.databaseFailed) }
    proxy.letPass()
    await told.wait { $0.contains(.done) && $0.contains(.databaseBack) }
    await until((try? await queue.enqueue(Count(number: 4))) != nil)
    await told.wait { $0.count { $0 == .done } >= 2 }
    await until((try? await queue.waitUntilIdle()) != nil)
    await queue.stop()
    reader.cancel()
    #expect(runs.withLock { $0[1] } == 1)
    #expect(!told.events.contains(.leaseLost))
    let inspection = try await schema.inspection()
    #expect(try inspection.problems() == [])
    #expect(try inspection.count(in: .done) == Int(inspection.number("SELECT count(*) FROM jobs")))
  }

  @Test func suspended_whileTheServerIsSilent_returnsAfterTheTimeLimitOfWhatRuns() async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let queue = try await queue(schema, port: proxy.port, timeout: .seconds(10))
    let store = try #require(queue.core.database as? PostgresAccess).store
    // From here on, calls have a connection.
    try await queue.enqueue(Count(number: 1))
    proxy.setSilent(true)
    let ended = Gate()
    let call = Task {
      defer { ended.open() }
      try await queue.enqueue(Count(number: 2))
    }
    await until(ended.isOpen || store.state.withLock { !$0.active.isEmpty })
    // Neither the statement nor the request to cancel it gets an answer.
    await queue.suspend()
    await #expect(throws: DatabaseError.self) { try await call.value }
    proxy.letPass()
    queue.resume()
    await until((try? await queue.enqueue(Count(number: 3))) != nil)
  }

  /// The queue does not know its worker yet: the round fails between its commit and its answer.
  @Test func suspended_whenTheFirstRoundHasClaimed_givesTheJobBack() async throws {
    let schema = try await TestSchema()
    let proxy = try PostgresProxy(to: schema.server.port)
    let queue = try await queue(schema, port: proxy.port)
    let inspection = try await schema.inspection()
    try await queue.register(Count.self) { _, _ async throws in }
    let id = try await queue.enqueue(Count(number: 1))
    // A round reads checkpoints after its commit, and a suspension refuses that.
    try inspection.execute("UPDATE jobs SET flags = flags | \(JobFlags.hasCheckpoint.rawValue)")
    try inspection.execute("INSERT INTO checkpoints SELECT id, 'a' FROM jobs")
    proxy.hold(behind: "composite_operations_claim")
    queue.start()
    await until(proxy.isHolding)
    let suspension = Task { await queue.suspend() }
    await until(queue.core.database.isSuspended)
    proxy.letPass()
    await suspension.value
    #expect(try inspection.ids(in: .waiting) == [id.rawValue])
    #expect(try inspection.number("SELECT count(*) FROM workers") == 0)
    queue.resume()
    let record = try await queue.waitUntilSettled(id)
    #expect(record?.state == .done && record?.attempts == 1 && record?.crashes == 0 && record?.lapses == 0)
    await queue.stop()
  }

  @Test func resumed_whileARequestToCancelIsUnderWay_goesOn() async throws {
    let schema = try await TestSchema()
    let queue = try await queue(schema)
    let database = queue.core.database
    let store = try #require(database as? PostgresAccess).store
    // Stands for a request that gets no answer.
    let requests = store.state.withLock { $0.requests }
    requests.enter()
    let suspension = Task { await queue.suspend() }
    await until(store.state.withLock { $0.requestLimit != nil })
    queue.resume()
    let looked = Gate()
    database.async { _ in looked.open() }
    await looked.wait()
    requests.leave()
    await suspension.value
  }

  /// Neither may the request cancel it, nor may it come before what the suspension does last.
  @Test(arguments: [true, false])
  func resumed_whileARequestToCancelIsUnderWay_whatComesNextWaitsForIt(_ isAnswered: Bool) async throws {
    let schema = try await TestSchema()
    let queue = try await queue(schema)
    let database = try #require(queue.core.database as? PostgresAccess)
    let store = database.store
    let requests = store.state.withLock { $0.requests }
    requests.enter()
    let begin = ContinuousClock.now
    let steps = Locked<[String]>([])
    database.isSuspended = true
    let interruption = Task {
      await database.interrupt { _ in steps.withLock { $0.append("last") } }
    }
    await until(store.state.withLock { $0.requestWait != nil })
    database.isSuspended = false
    let looked = Gate()
    database.async { _ in
      steps.withLock { $0.append("next") }
      looked.open()
    }
    if isAnswered { requests.leave() }
    await looked.wait()
    if !isAnswered {
      // It waits as long as a request takes that gets through.
      #expect(ContinuousClock.now - begin >= .seconds(1))
      requests.leave()
    }
    await interruption.value
    #expect(steps.current == ["last", "next"])
  }

  /// As long as the queue is suspended, it waits for the request: nothing else does.
  @Test func waitForRequests_isNoLongerWantedShort_goesOn() async {
    let steps = EventRecorder<String>(), ended = Gate()
    let wait = PostgresRequestWait {
      steps.record("ended")
      ended.open()
    }
    let requests = DispatchGroup()
    requests.enter()
    wait.begin(for: requests, until: PostgresDeadline(after: .seconds(3600)))
    wait.endSoon {
      steps.record("suspended")
      wait.endSoon {
        steps.record("resumed")
        return true
      }
      return false
    }
    await ended.wait()
    #expect(steps.events == ["suspended", "resumed", "ended"])
    requests.leave()
  }

  @Test func suspendedAgain_whileARequestToCancelIsUnderWay_bothReturn() async throws {
    let schema = try await TestSchema()
    let queue = try await queue(schema)
    let store = try #require(queue.core.database as? PostgresAccess).store
    let requests = store.state.withLock { $0.requests }
    requests.enter()
    let first = Task { await queue.suspend() }
    await until(store.state.withLock { $0.requestWait != nil })
    queue.resume()
    let second = Task { await queue.suspend() }
    await until(queue.core.database.isSuspended)
    requests.leave()
    await first.value
    await second.value
    queue.resume()
    try await queue.enqueue(Count(number: 1))
    #expect(try await queue.counts().total == 1)
  }

  @Test func slowStatement_isNoLostConnection() async throws {
    let schema = try await TestSchema()
    var code: DatabaseError.Code?
    // On a busy machine it may take the server longer to say so than a short timeout leaves.
    for seconds in [1, 5, 60] where code != .busy {
      guard let queue = try? await queue(schema, timeout: .seconds(seconds)) else { continue }
      do {
        try await queue.transaction { db in try db.execute("SELECT pg_sleep(1000)") }
        Issue.record("It did not end")
      } catch let error as DatabaseError {
        code = error.code
      }
    }
    #expect(code == .busy)
  }

  // MARK: - Locks that others keep

  @Test func othersKeepKinds_leaseIsProlongedAllTheSame() async throws {
    let schema = try await TestSchema()
    let trial = try await onWorker {
      Result { try RoundTrial(schema, port: UInt16(schema.server.port)) }
    }.get()
    try await onWorker {
      Result {
        _ = try trial.enqueue(JobOptions())
        trial.round(limit: 1)
      }
    }.get()
    let inspection = try await schema.inspection(), other = try await schema.inspection()
    let before = try inspection.number("SELECT lease_until FROM workers")
    try other.execute("BEGIN")
    try other.execute("SELECT 1 FROM kinds FOR UPDATE")
    let (access, worker, kind) = (trial.access, trial.worker, trial.kind)
    let isKept = try await access.run { try $0.prolongLease(of: worker, by: .seconds(3600), knowing: [kind]) }
    #expect(isKept)
    #expect(try inspection.number("SELECT lease_until FROM workers") > before)
    try other.execute("ROLLBACK")
  }

  /// A process that has claimed two jobs.
  private func trialOfTwoJobs(_ schema: TestSchema) async throws -> RoundTrial {
    try await onWorker {
      Result {
        let trial = try RoundTrial(schema, port: UInt16(schema.server.port))
        _ = try trial.enqueue(JobOptions(), JobOptions())
        trial.round(limit: 2)
        return trial
      }
    }.get()
  }

  @Test func jobOfALostWorkerIsLocked_theOthersAreTakenOver_andItLater() async throws {
    let schema = try await TestSchema()
    let trial = try await trialOfTwoJobs(schema)
    let inspection = try await schema.inspection(), transaction = try await schema.inspection()
    // As a transaction of the process would, which may take any time.
    try transaction.execute("BEGIN")
    try transaction.execute("SELECT 1 FROM jobs WHERE id = 1 FOR UPDATE")
    let other = try await access(schema)
    func rescue() async throws -> Bool {
      try await other.run { session in
        let workers = try session.look(StoreLook(worker: nil, kinds: [])).others ?? []
        return try session.rescue(
          LostWorkers(workers: workers.map { ($0, .crashed) }, orphaning: [], maxCrashes: 3, maxLapses: 3))
      }
    }
    #expect(try await rescue())
    #expect(try inspection.ids(in: .executing) == [1] && inspection.ids(in: .waiting) == [2])
    #expect(try await !rescue())
    try transaction.execute("ROLLBACK")
    #expect(try await rescue())
    #expect(try inspection.numbers("SELECT crashes FROM jobs ORDER BY id") == [1, 1])
    #expect(try inspection.number("SELECT count(*) FROM workers") == 0)
    // The process has lost both, and hears of it.
    let last = await onWorker { trial.round([1, 2].map { trial.end(JobID(rawValue: $0)) }, limit: 0) }
    #expect(last.isEmpty && trial.lostWorkers == 1)
    #expect(await trial.told().values.allSatisfy { $0 == [.leaseLost] })
  }

  @Test func keyOfAPeriodicJobIsLocked_othersAreEnqueued_andItLater() async throws {
    let schema = try await TestSchema()
    let hasty = try #require(
      try await queue(schema) { $0.busyTimeout = .milliseconds(100) }.core.database as? PostgresAccess)
    let (inspection, other) = (try await schema.inspection(), try await schema.inspection())
    try await access(schema).run { session in
      for name in ["a", "b", "c"] {
        _ = try session.number(ofKind: name)
        let options = name == "b" ? JobOptions() : JobOptions(uniqueKey: UniqueKey("k"))
        try session.schedule(
          StoreHarness.job(name, options), named: name, .interval(.seconds(3000), startingAt: Date()), .latest)
      }
    }
    try inspection.setClock(ahead: .seconds(3600))
    func look() async throws -> DatabaseError.Code? {
      try await hasty.run { (try $0.enqueueOccurrences().unreadable as? DatabaseError)?.code }
    }
    func stored() throws -> [Int64] {
      try inspection.numbers(
        "SELECT count(jobs.id) FROM kinds LEFT JOIN jobs ON lane >> 2 = kinds.id GROUP BY name ORDER BY name")
    }
    try other.execute("BEGIN")
    try other.execute("SELECT enqueue('a', '{}', '{\"uniqueKey\": \"k\"}')")
    #expect(try await look() == .busy)
    // It does not wait for a second key.
    #expect(try stored() == [0, 1, 0])
    try other.execute("ROLLBACK")
    #expect(try await look() == nil)
    #expect(try stored() == [1, 1, 1])
    #expect(try await look() == nil)
    #expect(try stored() == [1, 1, 1])
  }

  @Test func periodicJobIsLockedByALook_isUnscheduledAfterIt_andLeavesNothing() async throws {
    let schema = try await TestSchema()
    let access = try await access(schema)
    let (inspection, look) = (try await schema.inspection(), try await schema.inspection())
    try await access.run { session in
      _ = try session.number(ofKind: "a")
      try session.schedule(
        StoreHarness.job("a"), named: "tick", .interval(.seconds(3000), startingAt: Date()), .latest)
    }
    try inspection.execute("INSERT INTO occurrences (name, first, last) VALUES ('tick', 1, 1)")
    try look.execute("BEGIN")
    try look.execute("SELECT 1 FROM periodic FOR UPDATE")
    let looking = try look.number("SELECT pg_backend_pid()")
    let unscheduled = Task { try await access.run { try $0.unschedule("tick") } }
    try await inspection.wait {
      try $0.number("SELECT count(*) FROM pg_stat_activity WHERE \(looking) = ANY(pg_blocking_pids(pid))") == 1
    }
    // Each would wait for the other if these were locked.
    try look.execute("SELECT 1 FROM occurrences FOR UPDATE NOWAIT")
    try look.execute("INSERT INTO occurrences (name, first, last) VALUES ('tick', 2, 2)")
    try look.execute("COMMIT")
    #expect(try await unscheduled.value)
    #expect(try inspection.number("SELECT count(*) FROM occurrences") == 0)
  }

  @Test func periodicJobCannotBeStored_othersAreEnqueued() async throws {
    let schema = try await TestSchema()
    let (inspection, access) = (try await schema.inspection(), try await access(schema))
    let refused = try await access.run { session in
      for name in ["a", "b", "c"] {
        _ = try session.number(ofKind: name)
        try session.schedule(
          StoreHarness.job(name, JobOptions(uniqueKey: UniqueKey("k"))), named: name,
          .interval(.seconds(3000), startingAt: Date()), .latest)
      }
      return try session.number(ofKind: "b")
    }
    // One fails before it is sent, and one on the server.
    try inspection.execute(#"UPDATE periodic SET options = replace(options, '"k"', '"k\u0000"') WHERE name = 'a'"#)
    try inspection.execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$")
    try inspection.execute(
      """
      CREATE TRIGGER refuse BEFORE INSERT ON jobs FOR EACH ROW WHEN (NEW.lane >> 2 = \(refused)) EXECUTE FUNCTION refuse()
      """)
    try inspection.setClock(ahead: .seconds(3600))
    for _ in 0..<2 {
      let unreadable = try await access.run { try $0.enqueueOccurrences().unreadable }
      #expect((unreadable as? DatabaseError)?.code == .statement)
      #expect(
        try inspection.numbers(
          "SELECT count(jobs.id) FROM kinds LEFT JOIN jobs ON lane >> 2 = kinds.id GROUP BY name ORDER BY name")
          == [0, 0, 1])
    }
    try inspection.execute("DROP TRIGGER refuse ON jobs")
    _ = try await access.run { try $0.enqueueOccurrences() }
    #expect(try inspection.count(in: .waiting) == 2)
  }

  @Test func jobThatIsToBeGivenBackIsLocked_whatEndedIsWrittenAndToldOnce() async throws {
    let schema = try await TestSchema()
    let trial = try await trialOfTwoJobs(schema)
    let inspection = try await schema.inspection(), transaction = try await schema.inspection()
    let (access, worker, end) = (trial.access, trial.worker, trial.end(JobID(rawValue: 1)))
    func giveBack(within patience: Duration) async throws {
      try await access.run {
        try $0.giveBackJobs(of: worker, after: [end], keepsDone: true, within: patience)
      }
    }
    try transaction.execute("BEGIN")
    try transaction.execute("SELECT 1 FROM jobs WHERE id = 2 FOR NO KEY UPDATE")
    await #expect { try await giveBack(within: .milliseconds(100)) } throws: { ($0 as? DatabaseError)?.code == .busy }
    #expect(try inspection.ids(in: .done) == [1] && inspection.ids(in: .executing) == [2])
    try transaction.execute("ROLLBACK")
    // The queue asks for all of it once more.
    try await giveBack(within: .seconds(600))
    #expect(try inspection.ids(in: .done) == [1] && inspection.ids(in: .waiting) == [2])
    #expect(try inspection.number("SELECT count(*) FROM workers") == 0)
    #expect(await trial.told() == [JobID(rawValue: 1): [.done], JobID(rawValue: 2): [.returned]])
  }

  @Test func standsStillInsideOfATransaction_isEndedByTheServer() async throws {
    let schema = try await TestSchema()
    let frozen = try await access(schema, timeout: .seconds(10))
    let inspection = try await schema.inspection()
    _ = try await frozen.run { try $0.number(ofKind: "a") }
    let error = await onWorker {
      Result {
        try PostgresSession(frozen.store, pool: frozen.store.callers).withoutConflicts { work in
          try work.run("lock", "SELECT 1 FROM \(work.schema).kinds FOR UPDATE")
          // As if it stood still. The server ends it, and what it has locked is free.
          try inspection.execute("SELECT 1 FROM kinds FOR UPDATE")
          try work.run("again", "SELECT 1 FROM \(work.schema).kinds")
        }
      }
    }
    #expect(throws: DatabaseError.self) { try error.get() }
    if case .failure(let error as DatabaseError) = error { #expect(error.code == .connectionLost) }
  }
}
#endif
