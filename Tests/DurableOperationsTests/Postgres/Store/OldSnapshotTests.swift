#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// While a client holds an old snapshot, no entry of a handled job can be removed. The pages that
/// the server reads for each question must stay those for healthy tables.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct OldSnapshotTests {
  private static let dead = 100_000

  @Test func manyDeadJobs_claimsLooksAndPruning_readLittleMore() throws {
    let stage = try SnapshotStage()
    try stage.fill(dead: Self.dead)
    let healthy = try stage.pages()
    let snapshot = try stage.keepSnapshot()
    defer { snapshot.close() }
    try stage.run(dead: Self.dead)
    // From the front, which is slow.
    let fromFront = try stage.pages()
    try stage.findPlaces()
    let withCursors = try stage.pages()
    for name in ["claim", "count", "due", "promote", "first finish", "prune"] {
      let (before, slow, now) = (healthy[name] ?? 0, fromFront[name] ?? 0, withCursors[name] ?? 0)
      // So that something is to be seen.
      #expect(before > 0 && slow > before + 1000, "\(name): \(before), from the front \(slow)")
      #expect(now <= 3 * before, "\(name): \(before), \(now) with a cursor")
    }
    // By numbers, whatever else there is.
    #expect(withCursors["done"] ?? .max <= 3 * (healthy["done"] ?? 0))
  }

  @Test func manyDeadRounds_theNextOne_readsLittleMore() throws {
    let stage = try SnapshotStage()
    let healthy = try stage.pagesOfRound()
    let snapshot = try stage.keepSnapshot()
    defer { snapshot.close() }
    try stage.countRounds(to: 20_000)
    let now = try stage.pagesOfRound()
    #expect(healthy > 0 && now <= 3 * healthy, "\(healthy), now \(now)")
  }

  /// The server hides from other roles what a session does. Sessions of other tests, of which one
  /// may hold an older snapshot, have other roles than the one made here, too.
  @Test(arguments: [true, false]) func oldestSnapshot_hasAnAge_ifTheRoleMaySeeIt(isSeen: Bool) async throws {
    let server = try await PostgresServer.shared, role = "role\(server.uniqueNumber())"
    try server.query("CREATE ROLE \(role) LOGIN")
    var connecting = PostgresConfiguration(url: server.url())
    connecting.statementTimeout = .seconds(1200)
    let holder = try PostgresConnection.connect(connecting)
    defer { holder.close() }
    try holder.run(.inside, PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    try holder.run(.inside, PostgresStatement("SELECT 1"))
    if !isSeen { connecting.url = server.url(role: role) }
    let access = PostgresAccess(
      PostgresStore(
        connecting, place: "", options: PostgresOptions(), configuration: DurableQueue.Configuration(),
        events: EventHub()))
    let snapshot = try #require(try access.sync { ($0 as? PostgresSession)?.oldestSnapshot() })
    #expect(snapshot.serverProcess > 0)
    #expect((snapshot.age != nil) == isSeen)
  }
}

/// A store that takes every read for slow, on tables without vacuum.
private final class SnapshotStage {
  private let access: PostgresAccess
  private let connection: PostgresConnection
  private let url: String
  private let worker: Int64
  /// The jobs are of this kind.
  private let kind: Int64
  private var lane: Int64 { JobLane.number(ofKind: kind) }
  /// The date, which does not go on.
  private static let now: Int64 = 10_000_000

  init() throws {
    guard case .postgres(let url, let options) = try Engine.postgres.location() else {
      throw TestFailure(text: "it is not PostgreSQL")
    }
    self.url = url
    let configuration = DurableQueue.Configuration.standingStill(at: Self.now)
    let first = try PostgresAccess.open(url, options, mustExist: false, configuration, EventHub())
    kind = try first.sync { try $0.number(ofKind: "a") }
    var connecting = PostgresConfiguration(url: url)
    connecting.statementTimeout = .seconds(1200)
    access = PostgresAccess(
      PostgresStore(
        connecting, place: "", options: options, configuration: configuration, events: EventHub(), slow: .zero))
    connection = try PostgresConnection.connect(connecting)
    for setting in PostgresStore.plans { try connection.execute("SET \(setting) = off") }
    for table in ["jobs", "rounds"] { try connection.execute("ALTER TABLE \(table) SET (autovacuum_enabled = false)") }
    worker =
      try connection.integer(
        """
        WITH new AS (INSERT INTO workers (boot, host, process, started, lease, lease_until)
          VALUES ('', '', 1, 1, 1000000000, 1000000000000000) RETURNING id)
        INSERT INTO rounds SELECT id, 0, 0 FROM new RETURNING worker
        """) ?? 0
    try prepare()
  }

  deinit { connection.close() }

  // MARK: - Jobs

  /// Jobs that are to die, and behind them some that stay: waiting, scheduled, and done.
  func fill(dead: Int) throws {
    let rest = 5000
    try connection.execute(
      """
      INSERT INTO jobs (lane, state, major, minor, enqueued_at, version, payload, run_at, finished_at)
      SELECT CASE state WHEN 0 THEN \(lane) ELSE \(lane + 400) END, state, 10, 10, 1, 1, '{}',
        CASE state WHEN 1 THEN n END, CASE state WHEN 7 THEN n END
      FROM unnest(ARRAY[0, 1, 7]) AS state, generate_series(1, \(dead + rest)) AS n ORDER BY n
      """, "ANALYZE jobs")
  }

  /// A transaction that sees all jobs as they are now.
  func keepSnapshot() throws -> PostgresConnection {
    let snapshot = try PostgresConnection.connect(.patient(url))
    try snapshot.run(.inside, PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ"))
    try snapshot.run(.inside, PostgresStatement("SELECT count(*) FROM jobs"))
    return snapshot
  }

  /// What the queues of many processes do in a while.
  func run(dead: Int) throws {
    let first = "id IN (SELECT id FROM jobs WHERE state ="
    try connection.execute(
      "UPDATE jobs SET state = 3, worker = \(worker), claim = 1 WHERE \(first) 0 ORDER BY id LIMIT \(dead))",
      "DELETE FROM jobs WHERE state = 3",
      "UPDATE jobs SET state = 0 WHERE \(first) 1 ORDER BY run_at LIMIT \(dead))",
      "DELETE FROM jobs WHERE \(first) 7 ORDER BY finished_at LIMIT \(dead))")
  }

  /// The store sees for itself where there is something, once.
  func findPlaces() throws {
    let request = ClaimRequest(kinds: [(kind, 10)], limit: 10, isOnline: true, mayRunAlone: true)
    let claim = try access.sync { session in
      try session.round(
        StoreRound(
          acknowledgements: [], keepsDone: false, request: { request }, lease: .seconds(3600), isLast: false)
      ).claim
    }
    guard claim.jobs.count == 10 else { throw TestFailure(text: "\(claim.jobs.count) were claimed") }
    _ = try access.sync { try $0.look(StoreLook(kinds: [])) }
    let ended = try connection.integer("SELECT min(finished_at) FROM jobs WHERE state = 7") ?? 0
    _ = try access.sync { try $0.prune(keeping: .milliseconds(Self.now - ended - 5)) }
  }

  // MARK: - What is read

  /// The pages that the server reads for each statement, at the places where the store would begin.
  func pages() throws -> [String: Int] {
    let key = access.store.cursors.withLock { $0.key(of: lane) }
    let places = """
      '{\(lane)}', '{10}', '{\(key.rank)}', '{\(key.subrank)}', '{\(key.attempts)}', '{\(key.id)}'
      """
    let (due, finished) = (access.store.scheduled.withLock(\.start), access.store.finished.withLock(\.start))
    let ids =
      try connection.text(
        "SELECT array_agg(id)::text FROM (SELECT id FROM jobs WHERE state = 0 ORDER BY id DESC LIMIT 10) AS last") ?? ""
    let ended = try connection.integer("SELECT min(finished_at) FROM jobs WHERE state = 7") ?? 0
    let calls: [(name: String, statement: String, values: String)] = [
      ("claim", "claim", "\(places), 10, \(worker), true, NULL, '{}'"), ("count", "count_claimable", "\(places), 10"),
      ("due", "next_due", "\(due)"), ("promote", "promote", "\(Self.now), \(due)"),
      ("first finish", "first_finish", "\(finished)"),
      ("prune", "prune", "\(ended + 10), 0, \(finished)"), ("done", "done", "'\(ids)', '\(ids)'"),
    ]
    return try Dictionary(
      uniqueKeysWithValues: calls.map { call in
        (call.name, try pages(of: "EXECUTE composite_operations_\(call.statement) (\(call.values))"))
      })
  }

  /// The minimum of several runs: catalogs are read the first time, and again when another test
  /// makes tables.
  func pagesOfRound() throws -> Int {
    let number = try connection.integer("SELECT number FROM rounds WHERE worker = \(worker)") ?? 0
    return try (0..<10).map { _ in try pages(of: "SELECT begin_round(\(worker), 0, \(number), 1000, NULL)") }.min() ?? 0
  }

  func countRounds(to number: Int) throws {
    try connection.execute(
      """
      DO $$ BEGIN
        FOR i IN 0..\(number - 1) LOOP PERFORM begin_round(\(worker), 0, i, 1000, NULL); END LOOP;
      END $$
      """)
  }

  /// Makes the store prepare its statements, and prepares them on the connection of this stage,
  /// too.
  private func prepare() throws {
    let request = ClaimRequest(kinds: [(kind, 10)], limit: 10, isOnline: true, mayRunAlone: true)
    try access.sync { session in
      _ = try session.enqueue([[StoreHarness.job()]])
      var round = StoreRound(
        acknowledgements: [], keepsDone: false, request: { request }, lease: .seconds(3600), isLast: false)
      let answer = try session.round(round)
      round.acknowledgements = answer.claim.jobs.map { StoreHarness.acknowledgement(of: $0.id, claim: $0.claim) }
      (round.worker, round.isLast) = (answer.worker, true)
      _ = try session.round(round)
      _ = try session.look(StoreLook(kinds: []))
      _ = try session.ahead(StoreAhead.Question(wantsFirstFinish: true))
      _ = try session.promote()
      _ = try session.prune(keeping: .zero)
    }
    let store = access.store
    store.cursors.withLock { $0 = PostgresClaimCursors(slow: .zero) }
    store.scheduled.withLock { $0 = PostgresFrontCursor(slow: .zero) }
    store.finished.withLock { $0 = PostgresFrontCursor(slow: .zero) }
    let names = ["claim", "count_claimable", "next_due", "promote", "first_finish", "prune", "done"]
    for statement in store.madeStatements where names.contains(where: { statement.name?.hasSuffix("_\($0)") == true }) {
      try connection.execute("PREPARE \(statement.name ?? "") AS \(statement.sql)")
    }
  }

  /// What is read, not what is written, in a transaction that is taken back.
  private func pages(of statement: String) throws -> Int {
    try connection.run(.inside, PostgresStatement("BEGIN"))
    defer { connection.rollBack() }
    let text =
      try connection.run(.inside, PostgresStatement("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) \(statement)"))
      .first { $0.text(0) } ?? nil
    let plans = try JSONSerialization.jsonObject(with: Data((text ?? "").utf8)) as? [[String: Any]]
    guard let plan = plans?.first?["Plan"] as? [String: Any] else { throw TestFailure(text: "there is no plan") }
    return Self.pages(of: plan)
  }

  /// Where rows come from.
  private static func pages(of node: [String: Any]) -> Int {
    // What a condition asks for each row is part of the node that reads the rows.
    let inner = (node["Plans"] as? [[String: Any]] ?? []).filter { $0["Parent Relationship"] as? String != "SubPlan" }
    guard inner.isEmpty else { return inner.reduce(0) { $0 + pages(of: $1) } }
    return (node["Shared Hit Blocks"] as? Int ?? 0) + (node["Shared Read Blocks"] as? Int ?? 0)
  }
}
#endif
