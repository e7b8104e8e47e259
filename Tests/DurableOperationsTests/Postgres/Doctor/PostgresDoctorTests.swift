#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// What is found on a server, and what is not where all is well.
@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct PostgresDoctorTests {
  /// A queue in a database of its own: sessions of others keep no snapshots of it.
  private struct Patient {
    let server: PostgresServer
    let database: String
    let options: PostgresOptions

    init(
      _ options: PostgresOptions = PostgresOptions(statementTimeout: .seconds(1200)), isMade: Bool = true
    ) async throws {
      server = try await PostgresServer.shared
      database = try await server.makeDatabase()
      self.options = options
      if isMade { _ = try DurableQueue(location: .postgres(server.url(database), options)) }
    }

    func look(
      as role: String = "durable", limits: DurableQueue.DiagnosisLimits = DurableQueue.DiagnosisLimits(),
      now: () -> Date = { Date() }
    ) throws -> [Diagnosis] {
      // So long that no busy machine needs it.
      var limits = limits
      limits.poolerPatience = .seconds(1200)
      return try DurableQueue.diagnose(
        .existingPostgres(server.url(database, role: role), options), limits: limits, now: now)
    }

    func query(_ sql: String) throws { try server.query(sql, in: database) }
  }

  private func only(_ found: [Diagnosis], _ subject: String) throws -> Diagnosis {
    let about = found.filter { $0.subject == subject }
    #expect(about.count == 1, "\(about)")
    return try #require(about.first)
  }

  @Test func healthyQueue_hasNothingThatNeedsAttention_butWhatTheTestServerLacks() async throws {
    let found = try await Patient().look()
    // It does not wait for the disk.
    #expect(found.filter { $0.level != .fine }.map(\.finding) == ["fsync is off."])
    #expect(
      Set(found.map(\.subject)) == [
        "server", "settings", "clocks", "pooler", "connections", "snapshots", "tables", "rights", "plans", "dead rows",
        "autovacuum",
      ])
    #expect(found.first?.level == .attention)
    for diagnosis in found { #expect((diagnosis.level == .fine) == (diagnosis.remedy == nil)) }
  }

  @Test func databaseWithoutAQueue_isToldOf() async throws {
    let tables = try only(await Patient(isMade: false).look(), "tables")
    #expect(tables.level == .attention)
    #expect(tables.finding == "There are no tables of a queue in the schema durable.")
    #expect(tables.remedy?.contains("durable-queue schema --print") == true)
  }

  @Test(arguments: [("0", "is no version"), ("99", "of version 99, and this program knows up to")])
  func tablesOfAnotherVersion_areToldOf(_ version: String, _ finding: String) async throws {
    let patient = try await Patient()
    try patient.query("UPDATE durable.meta SET value = '\(version)' WHERE key = 'schema'")
    let tables = try only(patient.look(), "tables")
    #expect(tables.level == (version == "0" ? .unknown : .attention))
    #expect(tables.finding.contains(version == "0" ? "no version that there can be" : finding), "\(tables)")
  }

  @Test func sessionThatKeepsASnapshot_isToldOf() async throws {
    let patient = try await Patient()
    let holder = try PostgresConnection.connect(PostgresConfiguration(url: patient.server.url(patient.database)))
    defer { holder.close() }
    try holder.run(.opening, PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    try holder.run(.inside, PostgresStatement("SELECT txid_current()"))
    var limits = DurableQueue.DiagnosisLimits()
    limits.snapshotAge = .seconds(24 * 3600)
    #expect(try only(patient.look(limits: limits), "snapshots").level == .fine)
    limits.snapshotAge = .zero
    let snapshots = try patient.look(limits: limits).filter { $0.subject == "snapshots" }
    let own = try #require(
      snapshots.first { $0.finding.hasPrefix("The session \(holder.serverProcess) (durable, role durable, idle in") })
    #expect(own.level == .attention)
    #expect(own.remedy?.contains("SELECT pg_catalog.pg_terminate_backend(\(holder.serverProcess));") == true)
    holder.rollBack()
    let after = try patient.look(limits: limits).filter { $0.finding.contains("The session \(holder.serverProcess) ") }
    #expect(after.isEmpty, "\(after)")
  }

  @Test func deadRows_areToldOf() async throws {
    let patient = try await Patient()
    try patient.query("ALTER TABLE durable.kinds SET (autovacuum_enabled = off)")
    // In one session: two would note what they did in any order.
    try patient.query(
      """
      INSERT INTO durable.kinds (name) SELECT 'kind ' || n FROM generate_series(1, 5000) AS n;
      UPDATE durable.kinds SET known_at = 1
      """)
    var limits = DurableQueue.DiagnosisLimits()
    limits.deadRows = 4000
    // The server notes it when it has time.
    var found: [Diagnosis] = []
    var turns = Turns()
    while true {
      found = try patient.look(limits: limits)
      if found.contains(where: { $0.subject == "dead rows" && $0.level == .attention }) { break }
      await turns.next()
    }
    let rows = try only(found, "dead rows")
    #expect(rows.finding == "The table kinds has 5000 dead rows beside 5000 that count; it was never cleaned up.")
    #expect(rows.remedy?.hasSuffix(#"Then VACUUM (ANALYZE) "durable"."kinds";"#) == true)
    // All workers may be busy with other tests.
    let autovacuum = found.filter { $0.subject == "autovacuum" && !$0.finding.hasPrefix("All ") }
    #expect(autovacuum.map(\.finding) == ["Autovacuum leaves out the table kinds."])
    #expect(autovacuum.first?.remedy == #"ALTER TABLE "durable"."kinds" RESET (autovacuum_enabled);"#)
  }

  @Test func indexThatIsMissing_isToldOf() async throws {
    let patient = try await Patient()
    try patient.query("DROP INDEX durable.jobs_order")
    let found = try patient.look().filter { $0.subject == "plans" }
    #expect(found.map(\.finding) == ["A claim reads all of jobs."])
    #expect(found.allSatisfy { $0.level == .attention })
  }

  @Test func keyThatIsMissing_makesAcknowledgementsReadAll() async throws {
    let patient = try await Patient()
    try patient.query("ALTER TABLE durable.jobs DROP CONSTRAINT jobs_pkey")
    let found = try patient.look().filter { $0.subject == "plans" }
    #expect(found.map(\.finding).contains("An acknowledgement reads all of jobs."), "\(found)")
  }

  @Test func indexThatIsNotValid_isToldOf() async throws {
    let patient = try await Patient()
    try patient.query(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'durable.jobs_scheduled'::regclass")
    #expect(try only(patient.look(), "plans").finding == "The index jobs_scheduled is not valid.")
  }

  @Test func roleThatLacksRights_isToldWhatToGrant() async throws {
    let patient = try await Patient()
    let role = "role\(patient.server.uniqueNumber())"
    try patient.query("CREATE ROLE \(role) LOGIN")
    let without = try patient.look(as: role)
    let missing = try only(without, "rights")
    #expect(missing.level == .attention)
    #expect(
      missing.finding.hasPrefix(
        "The role \(role) lacks rights: USAGE of the schema; SELECT, INSERT, UPDATE, DELETE of "))
    #expect(missing.finding.contains("SELECT of meta"))
    #expect(without.filter { $0.subject == "tables" || $0.subject == "plans" }.allSatisfy { $0.level == .unknown })
    try patient.query(try #require(missing.remedy))
    let with = try patient.look(as: role)
    #expect(try only(with, "rights").level == .fine)
    #expect(with.filter { $0.level != .fine }.map(\.finding) == ["fsync is off."])
  }

  @Test(arguments: [(-3600.0, "ahead of"), (3600, "behind")])
  func clockOfTheServerThatDiffers_isToldOf(_ offset: Double, _ direction: String) async throws {
    let clocks = try only(await Patient().look(now: { Date() + offset }), "clocks")
    #expect(clocks.level == .attention)
    let number = try #require(clocks.finding.firstMatch(of: /is (\d+) ms (ahead of|behind)/))
    #expect(number.2 == direction)
    #expect((1_800_000...3_600_002).contains(try #require(Int(number.1))), "\(clocks)")
  }

  @Test func connectionsThatAreUsedUp_areToldOf() async throws {
    let patient = try await Patient()
    try patient.query("ALTER DATABASE \(patient.database) CONNECTION LIMIT 12")
    // The server counts those that have just ended, and its own workers that clean tables, for a
    // moment.
    let isFine = "1 of 12 connections of the database are used."
    await until(
      (try? only(patient.look(), "connections")).map { $0.finding == isFine && $0.level == .fine } ?? false)
    try patient.query("ALTER DATABASE \(patient.database) CONNECTION LIMIT 10")
    #expect(try only(patient.look(), "connections").level == .attention)
  }

  @Test func settingsThatLoseJobs_areToldOf() async throws {
    let patient = try await Patient()
    try patient.query("ALTER DATABASE \(patient.database) SET synchronous_commit = off")
    let settings = try patient.look().filter { $0.subject == "settings" }
    #expect(
      settings.map(\.finding) == ["fsync is off.", "synchronous_commit is off for this role and database."])
  }

  @Test func serverThatIsReadOnly_isToldOf() async throws {
    let patient = try await Patient()
    try patient.query("ALTER DATABASE \(patient.database) SET default_transaction_read_only = on")
    let url = patient.server.url(patient.database) + "&target_session_attrs=any"
    let found = try DurableQueue.diagnose(.existingPostgres(url))
    #expect(found.contains { $0.level == .attention && $0.finding.hasPrefix("The server takes no changes") })
  }

  @Test func databaseInAnotherEncoding_isToldOf() async throws {
    let server = try await PostgresServer.shared
    let name = "latin\(server.uniqueNumber())"
    try server.query("CREATE DATABASE \(name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    let found = try DurableQueue.diagnose(.existingPostgres(server.url(name)))
    #expect(found.contains { $0.finding == "The encoding of the database is LATIN1, not UTF8." })
  }

  @Test(
    .enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)"),
    arguments: [(3, Diagnosis.Level.attention), (1, .unknown)])
  func pooler_isToldOf(_ sessions: Int, _ level: Diagnosis.Level) async throws {
    let patient = try await Patient()
    let behind = try await PgBouncer(to: patient.server, sessions: sessions)
    var limits = DurableQueue.DiagnosisLimits()
    // It is not served, however long it waits.
    limits.poolerPatience = sessions == 1 ? .milliseconds(500) : .seconds(1200)
    let found = try DurableQueue.diagnose(
      .existingPostgres(behind.url(patient.database), patient.options), limits: limits)
    let pooler = try only(found, "pooler")
    #expect(pooler.level == level, "\(pooler)")
    #expect(pooler.remedy?.contains("pooler") == true)
    #expect(try only(found, "plans").level == .fine)
  }

  // MARK: - What a test cannot bring about

  @Test(
    arguments: [
      ([7, 7], 7, .fine), ([7, 8], 7, .attention), ([7, 8], 1, .attention), ([7, 7], 1, .unknown),
    ] as [([Int64], Int64, Diagnosis.Level)])
  func pooler_isSeenByTheProcesses(_ processes: [Int64], _ told: Int64, _ level: Diagnosis.Level) {
    #expect(PostgresDoctor.pooler(processes, told: told).level == level)
  }

  @Test func autovacuumThatIsOffOrStarved_isToldOf() {
    let due = PostgresDoctor.Table(name: "jobs", live: 10, dead: 5001, trigger: 5000)
    func found(isOn: Bool = true, counts: Bool = true, busy: Int64 = 0, dead: Int64 = 0) -> [String] {
      var table = due
      table.dead = dead
      return PostgresDoctor.autovacuum(
        isOn: isOn, counts: counts, workers: (busy, 3), tables: [table], in: "durable"
      ).filter { $0.level == .attention }.map(\.finding)
    }
    #expect(found() == [])
    #expect(found(isOn: false) == ["autovacuum is off."])
    #expect(found(counts: false) == ["track_counts is off."])
    #expect(found(busy: 3, dead: 5000) == [])
    #expect(found(busy: 2, dead: 5001) == [])
    #expect(
      found(busy: 3, dead: 5001) == ["All 3 workers of autovacuum are busy, and it is due for jobs."])
  }

  @Test func deadRows_areLate_fromFourTimesTheTriggerOn_andTheLeastNumber() {
    func isLate(_ dead: Int64, trigger: Int64) -> Bool {
      PostgresDoctor.Table(name: "jobs", live: 0, dead: dead, trigger: trigger).isLate(10_000)
    }
    #expect(!isLate(9999, trigger: 50) && isLate(10_000, trigger: 50))
    #expect(!isLate(19_999, trigger: 5000) && isLate(20_000, trigger: 5000))
  }

  @Test func snapshotOfAnUnknownAge_isTakenForAnOldOne_fromManyTransactionsOn() {
    func session(_ age: Duration?, _ transactions: Int64) -> String? {
      PostgresDoctor.session(
        process: 7, role: "", program: "", state: "", age: age, transactions: transactions, limit: .seconds(60))?
        .finding
    }
    #expect(session(.seconds(59), 1_000_000) == nil)
    #expect(session(.seconds(60), 1)?.contains("for 60 s") == true)
    #expect(session(nil, 9999) == nil)
    #expect(session(nil, 10_000)?.contains("since 10000 transactions ago") == true)
  }
}
#endif
