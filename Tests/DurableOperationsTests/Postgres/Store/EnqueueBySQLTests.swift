#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Jobs that other programs store, by a function of the server's.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct EnqueueBySQLTests {
  /// A queue, and another program's connection to its server.
  private struct Stage {
    let queue: DurableQueue
    let connection: PostgresConnection
    let schema: String

    init() throws {
      guard case .postgres(let url, let options) = try Engine.postgres.location() else {
        throw TestFailure(text: "it is not PostgreSQL")
      }
      schema = options.schema
      var configuration = DurableQueue.Configuration()
      configuration.pollInterval = .milliseconds(20)
      configuration.busyTimeout = .seconds(600)
      queue = try DurableQueue(location: .postgres(url, options), configuration: configuration)
      connection = try PostgresConnection.connect(.patient(url))
    }

    /// As psql does it.
    func enqueue(_ arguments: String) throws -> JobID {
      JobID(rawValue: try connection.integer("SELECT \(schema).enqueue(\(arguments))") ?? 0)
    }

    func sqlState(_ arguments: String) -> String? {
      postgresError { _ = try enqueue(arguments) }?.sqlState
    }

    /// In a transaction of the other program's, with texts as values.
    func run(_ statement: (sql: String, values: [String])) throws -> JobID {
      let pipeline = try PostgresPipeline(.implicit, PostgresStatement(statement.sql)) {
        parameters throws(PostgresError) in
        for value in statement.values { try parameters.bind(value) }
      }
      return JobID(rawValue: try connection.run(pipeline)[0].first { $0.integer(0) } ?? 0)
    }

    /// All that is stored of a job, but for its number and the time.
    func row(_ id: JobID) throws -> String? {
      try connection.text(
        """
        SELECT concat_ws('|', lane, state, major, minor, flags, blockers, max_attempts, timeout, version, backoff, unique_key, payload,
          CASE WHEN flags & 8 <> 0 THEN run_at - enqueued_at ELSE run_at END,
          (SELECT array_agg(prerequisite || ' ' || failing ORDER BY 1) FROM dependencies WHERE dependent = id))
        FROM jobs WHERE id = \(id)
        """.replacing("\(id)", with: "\(id.rawValue)"))
    }
  }

  // MARK: - By the function

  @Test func enqueued_asTheFunctionSays_runs() async throws {
    let stage = try Stage()
    let sent = EventRecorder<String>()
    try await stage.queue.register(Send.self) { job, _ in
      BlockOperation { sent.record(job.text) }
    }
    let id = try stage.enqueue("'send', '{\"text\": \"hello\"}'")
    let other = try stage.enqueue("'send', json_build_object('text', 'again'), '{\"dependsOn\": [\(id.rawValue)]}'")
    #expect(try await stage.queue.job(other)?.state == .blocked)
    stage.queue.start()
    #expect(try await stage.queue.waitUntilSettled(other)?.state == .done)
    await stage.queue.stop()
    #expect(sent.events == ["hello", "again"])
  }

  @Test func withoutOptions_isStoredAsTheQueueDoesIt() throws {
    let stage = try Stage()
    let id = try stage.queue.enqueue(Send(text: "x"))
    for arguments in [
      "'send', '{\"text\":\"x\"}'", "'send', '{\"text\":\"x\"}', '{}'", "'send', '{\"text\":\"x\"}', NULL",
    ] {
      #expect(try stage.row(stage.enqueue(arguments)) == stage.row(id))
    }
  }

  @Test func optionThatIsNull_isAsUnlessGiven() throws {
    let stage = try Stage()
    let names = [
      "version", "major", "minor", "runAt", "timeout", "requiresNetwork", "uniqueKey", "uniqueKeyStates", "whenTaken",
      "dependsOn", "whenPrerequisiteFails", "holdsAfterLastAttempt", "startsHeld", "backoff",
    ]
    let options = names.map { "\"\($0)\": null" }.joined(separator: ", ")
    let id = try stage.enqueue("'send', '{}', '{\(options)}'")
    #expect(try stage.row(id) == stage.row(stage.enqueue("'send', '{}'")))
    let patient = try stage.enqueue("'send', '{}', '{\"maxAttempts\": null}'")
    #expect(try stage.queue.job(patient)?.maxAttempts == nil)
  }

  @Test(arguments: [
    #"'send', '{}', '{"runafter": 3}'"#, #"'', '{}'"#, #"NULL, '{}'"#, #"'send', NULL"#,
    #"'send', '{}', '{"dependsOn": [999]}'"#, #"'send', '{}', '{"maxAttempts": 0}'"#,
    #"'send', '{}', '{"timeout": 0}'"#, #"'send', '{}', '{"timeout": -1}'"#,
    #"'send', '{}', '{"uniqueKey": "k", "whenTaken": "Replace"}'"#,
    #"'send', '{}', '{"whenPrerequisiteFails": "fail"}'"#,
    #"'send', '{}', '{"uniqueKey": "k", "uniqueKeyStates": ["waiting", "running"]}'"#,
  ])
  func wrong_isRefused_withAStateOfItsOwn(_ arguments: String) throws {
    let stage = try Stage()
    #expect(stage.sqlState(arguments) == "22023")
    #expect(try stage.queue.counts().total == 0)
  }

  @Test(arguments: [
    #"'send', 'no json'"#, #"'send', '{}', '{"major": "high"}'"#, #"'send', '{}', '{"runAt": "soon"}'"#,
  ])
  func valuesOfOtherTypes_areRefused(_ arguments: String) throws {
    let stage = try Stage()
    #expect(stage.sqlState(arguments)?.hasPrefix("22") == true)
    #expect(try stage.queue.counts().total == 0)
  }

  @Test func keyThatIsTaken_isAnError_orReplaces() throws {
    let stage = try Stage()
    let first = try stage.queue.enqueue(Send(text: "x"), options: JobOptions(uniqueKey: UniqueKey("k")))
    #expect(stage.sqlState(#"'send', '{}', '{"uniqueKey": "k"}'"#) == "23505")
    let message = postgresError { _ = try stage.enqueue(#"'send', '{}', '{"uniqueKey": "k"}'"#) }?.message
    #expect(message?.contains("\(first.rawValue)") == true)
    #expect(try stage.enqueue(#"'send', '{"text": "y"}', '{"uniqueKey": "k", "whenTaken": "replace"}'"#) == first)
    #expect(try stage.queue.job(first)?.decoded(as: Send.self).text == "y")
    // A job that is waiting does not count here.
    _ = try stage.enqueue(#"'send', '{}', '{"uniqueKey": "k", "uniqueKeyStates": ["done"]}'"#)
    #expect(try stage.queue.counts().total == 2)
  }

  @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
  func keyThatWasTakenSinceTheSnapshot_isNotTakenTwice(_ isolation: String) throws {
    let stage = try Stage()
    // The kind is there before.
    try stage.queue.enqueue(Send(text: "first"))
    try stage.connection.run(.inside, PostgresStatement("BEGIN ISOLATION LEVEL \(isolation)"))
    try stage.connection.run(.inside, PostgresStatement("SELECT count(*) FROM jobs"))
    try stage.queue.enqueue(Send(text: "x"), options: JobOptions(uniqueKey: UniqueKey("k")))
    let error = postgresError { _ = try stage.enqueue(#"'send', '{"text":"y"}', '{"uniqueKey":"k"}'"#) }
    #expect(error?.sqlState == "0A000")
    #expect(error?.details == "Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.")
    stage.connection.rollBack()
    #expect(try stage.queue.counts().total == 2)
  }

  /// Their own transactions are READ COMMITTED all the same, behind a pooler, too.
  @Test(arguments: ["repeatable read", "serializable"])
  func databaseWhoseTransactionsHaveOneSnapshot_queuesUseUniqueKeys(_ isolation: String) async throws {
    let database = try await PostgresDatabase()
    try await database.connect().execute(
      "ALTER DATABASE \(database.name) SET default_transaction_isolation = '\(isolation)'")
    #expect(try await database.connect().text("SHOW transaction_isolation") == isolation)
    for pooler in [PostgresOptions.Pooler.none, .transaction] {
      let options = PostgresOptions(pooler: pooler, statementTimeout: .seconds(1200))
      let queue = try await DurableQueue.open(location: .postgres(database.server.url(database.name), options))
      let keyed = JobOptions(uniqueKey: UniqueKey("k"))
      let id = try await queue.enqueue(Send(text: "x"), options: keyed)
      await #expect { try await queue.enqueue(Send(text: "y"), options: keyed) } throws: {
        ($0 as? JobError)?.reason == .duplicate(id)
      }
      try await queue.cancel(id)
      try await queue.retry(id)
      try await queue.transaction { db in
        #expect(throws: JobError.self) { try db.enqueue(Send(text: "z"), options: keyed) }
      }
      #expect(try await queue.counts().total == 1)
      try await queue.cancel(id)
      try await queue.delete(id)
      await queue.stop()
    }
  }

  @Test func transactionOfTheOtherProgram_isRolledBack_nothingIsStored() throws {
    let stage = try Stage()
    try stage.connection.run(.inside, PostgresStatement("BEGIN"))
    _ = try stage.connection.run(.inside, PostgresStatement("SELECT \(stage.schema).enqueue('new', '{}')"))
    stage.connection.rollBack()
    #expect(try stage.queue.counts().total == 0)
    // A kind that was new then is new again, and its number belongs to no kind.
    let id = try stage.queue.enqueue(Count(number: 1))
    #expect(try stage.queue.job(id)?.kind == "count")
  }

  // MARK: - By a statement that the queue makes

  private static let options: [JobOptions] = {
    var all = [JobOptions()]
    func add(_ change: (inout JobOptions) -> Void) {
      var options = JobOptions()
      change(&options)
      all.append(options)
    }
    add { $0.priority = JobPriority(major: .min, minor: .max) }
    add { $0.start = .after(.milliseconds(1234)) }
    add { $0.start = .after(.zero) }
    add { $0.start = .after(.seconds(-3)) }
    add { $0.start = .at(Date(timeIntervalSince1970: 2_000_000_000.789)) }
    add { $0.start = .at(Date(timeIntervalSince1970: 1.5)) }
    add { $0.maxAttempts = nil }
    add { $0.maxAttempts = 3 }
    add { $0.timeout = .milliseconds(1501) }
    add { $0.requiresNetwork = true }
    add { $0.uniqueKey = UniqueKey("it's \"one\" \\ é") }
    add { $0.uniqueKey = UniqueKey("other", whenTaken: .replace, by: [.done, .waiting]) }
    add { $0.holdsAfterLastAttempt = true }
    add { $0.startsHeld = true }
    add { $0.backoff = .exponential(from: .seconds(2), multiplier: 3) }
    add { $0.whenPrerequisiteFails = .die }
    return all
  }()

  @Test(arguments: options.indices) func statement_storesWhatTheQueueWould(_ index: Int) throws {
    var options = Self.options[index]
    let stage = try Stage()
    let job = Send(text: "it's \"one\" \\ é \u{1F600}")
    options.dependsOn = index % 2 == 0 ? [] : [try stage.queue.enqueue(Count(number: 1))]
    let id = try stage.queue.enqueue(job, options: options)
    let row = try stage.row(id)
    try stage.queue.delete(id)
    let statement = try stage.queue.enqueueStatement(for: JobRequest(job, options: options))
    #expect(try stage.row(stage.run(statement)) == row)
    #expect(row != nil)
  }

  @Test func statement_runsInATransactionOfTheOtherProgram() async throws {
    let stage = try Stage()
    try stage.connection.execute("CREATE TABLE orders (id bigint)")
    let statement = try stage.queue.enqueueStatement(for: JobRequest(Send(text: "receipt")))
    for isKept in [false, true] {
      try stage.connection.run(.inside, PostgresStatement("BEGIN"))
      try stage.connection.run(.inside, PostgresStatement("INSERT INTO orders VALUES (7)"))
      let pipeline = try PostgresPipeline(.inside, PostgresStatement(statement.sql)) {
        parameters throws(PostgresError) in
        for value in statement.values { try parameters.bind(value) }
      }
      try stage.connection.run(pipeline)
      #expect(try await stage.queue.counts().total == 0)
      if isKept { try stage.connection.run(PostgresPipeline(.closing)) } else { stage.connection.rollBack() }
    }
    #expect(try await stage.queue.counts()["send"]?.states == [.waiting: 1])
    try await stage.queue.register(Send.self) { _, _ in BlockOperation {} }
    stage.queue.start()
    try await stage.queue.waitUntilIdle()
    await stage.queue.stop()
    #expect(try await stage.queue.counts()["send"]?.states == [.done: 1])
  }

  @Test func prerequisiteByItsPosition_isRefused() throws {
    let stage = try Stage()
    let reason = jobErrorReason {
      _ = try stage.queue.enqueueStatement(
        for: JobRequest(Count(number: 1), options: JobOptions(dependsOn: [.inSameCall(0)])))
    }
    #expect(reason == .unknownPrerequisite(.inSameCall(0)))
  }

  @Test func queueInAFile_hasNone() throws {
    let queue = try DurableQueue(location: .memory)
    do {
      _ = try queue.enqueueStatement(for: JobRequest(Count(number: 1)))
      Issue.record("there is no server")
    } catch let error as DatabaseError {
      #expect(error.code == .needsServer && error.code.description == "needsServer")
      #expect(
        error.description
          == "The jobs of :memory: are not on a server (enqueueStatement is for other clients of one). Use a queue whose location is "
          + ".postgres.")
    }
  }
}
#endif
