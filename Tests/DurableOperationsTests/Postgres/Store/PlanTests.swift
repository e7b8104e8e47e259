#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// How the server runs the statements of the store, whatever its statistics: a plan for an empty
/// table is kept.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct PlanTests {
  /// How many jobs there are when the plans are made, and whether the server has looked at them.
  struct Tables: Sendable, CustomTestStringConvertible {
    let count: Int
    let isAnalysed: Bool

    /// All in full; else an empty one, and two of which the server knows the size.
    static let all: [Tables] =
      (Scale.factor < 1 ? [0] : [0, 120_000]).map { Tables(count: $0, isAnalysed: false) }
      + (Scale.factor < 1 ? [1000, 120_000] : [0, 10, 100, 1000, 10_000, 120_000]).map {
        Tables(count: $0, isAnalysed: true)
      }

    var testDescription: String { "\(count) jobs\(isAnalysed ? ", analysed" : "")" }
  }

  /// Tables that grow.
  private static let large: Set<String> = ["jobs", "dependencies", "checkpoints", "errors"]

  /// What reads all of a large table.
  private static let readsAll: [String: String] = [
    "counts": "each job is counted, if there are not too many"
  ]

  /// The statements that the tour does not run: those after a lost answer, each of which finds jobs
  /// by their numbers, or by their worker; and those that read no table of the queue.
  private static let besideTheTour: Set = [
    "raise_epoch", "own_jobs", "states", "state_and_claim", "is_worker", "end_session", "oldest_snapshot", "patience",
  ]

  @Test(arguments: Tables.all) func plans_readNoTableAtLength(_ tables: Tables) throws {
    let stage = try PlanStage(tables)
    let plans = try stage.plans(of: stage.statements())
    #expect(plans.count > 60)
    for (name, plan) in plans where Self.readsAll[name] == nil {
      for node in plan.nodes where Self.large.contains(node.table) {
        #expect(!node.readsAll, "\(name) reads all of \(node.table): \(node)")
      }
    }
    try expectWhatIsCurrent_isNotLookedForAmongWhatExecutes(plans)
    try expectClaims_beginAtTheirCursors(plans)
    try expectFunctions_readNoTableAtLength(stage.plansOfFunctions())
  }

  /// While a client holds an old snapshot, the index keeps entries of all claimed jobs.
  private func expectWhatIsCurrent_isNotLookedForAmongWhatExecutes(_ plans: [String: Plan]) throws {
    for name in ["acknowledge", "done", "keep_done", "mark_checkpoint", "heartbeat", "abandon"] {
      let plan = try #require(plans[name])
      #expect(!plan.nodes.contains { $0.index == "jobs_executing" }, "\(name)")
    }
  }

  private func expectClaims_beginAtTheirCursors(_ plans: [String: Plan]) throws {
    for name in ["claim", "count_claimable"] {
      let ofLanes = try #require(plans[name]).nodes.filter { $0.index == "jobs_order" }
      #expect(!ofLanes.isEmpty)
      for node in ofLanes { #expect(node.condition?.contains("ROW(") == true, "\(name): \(node)") }
    }
  }

  /// - Parameter text: what `auto_explain` says of a session with settings of its own, such as
  ///   another program's: what is planned first is kept.
  private func expectFunctions_readNoTableAtLength(_ text: String) throws {
    let plans = text.components(separatedBy: "WARNING:  duration: ").dropFirst()
    #expect(plans.count > 60)
    for plan in plans {
      let lines = plan.split(separator: "\n").map(String.init)
      for (line, next) in zip(lines, lines.dropFirst() + [""]) {
        let words = line.split(separator: " ")
        guard let on = words.lastIndex(of: "on"), on + 1 < words.count, Self.large.contains(String(words[on + 1]))
        else {
          continue
        }
        let isWholeIndex = line.contains(#/Index.*_(pkey|unique|dependent) /#) && !next.contains("Index Cond")
        #expect(!line.contains("Seq Scan") && !isWholeIndex, "\(plan)")
      }
    }
  }

  /// Statements of the user are planned as the user wants.
  @Test func statementsOfATransactionOfTheUsers_areNotKept() throws {
    let stage = try PlanStage(tours: false)
    let before = try stage.statements().map(\.name)
    let other = try stage.harness.enqueue("b")
    try stage.harness.session { session in
      // The kind is known by now.
      _ = try session.number(ofKind: "a")
      try session.transact { transaction in
        let options = JobOptions(uniqueKey: UniqueKey("key"), dependsOn: [other])
        _ = try transaction.enqueue([StoreHarness.job("a", options), StoreHarness.job("a")])
        _ = try transaction.execute("SELECT count(*) FROM jobs", [])
      }
    }
    let made = Set(try stage.statements().map(\.name)).subtracting(before)
    #expect(made.isDisjoint(with: ["enqueue_job", "block_job", "lock_keys", "savepoint", "release"]))
  }

  /// A statement that the tour does not run would stay untested.
  @Test func tour_leadsToEachStatement() throws {
    let stage = try PlanStage()
    let made = Set(try stage.statements().map(\.name))
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../../Sources/DurableOperations/Postgres/Store")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    var written: Set<String> = []
    for file in files where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /(?:statement|run|read|change|(ask))\(\s*"([a-z_]+)"/) {
        written.insert((match.1 == nil ? "" : "look_") + match.2)
      }
    }
    #expect(written.count > 80)
    #expect(written.subtracting(made).subtracting(Self.besideTheTour) == [])
  }
}

/// A store with one connection, and so many jobs.
private struct PlanStage {
  struct Statement {
    let name: String
    let sql: String
    let types: [String]
  }

  let harness: StoreHarness
  private let url: String
  private let schema: String

  init(_ tables: PlanTests.Tables = PlanTests.Tables.all[0], tours: Bool = true) throws {
    guard case .postgres(let url, var options) = try Engine.postgres.location() else {
      throw TestFailure(text: "it is not PostgreSQL")
    }
    options.maxConnections = 1
    (self.url, schema) = (url, options.schema)
    harness = try StoreHarness(on: .postgres, at: .postgres(url, options))
    if tours { try StoreTour(harness).run() }
    if tables.count > 0 { try fill(tables.count) }
    if tables.isAnalysed { try execute("ANALYZE") }
  }

  private func connect() throws -> PostgresConnection {
    var configuration = PostgresConfiguration(url: url)
    configuration.statementTimeout = .seconds(1200)
    return try PostgresConnection.connect(configuration)
  }

  private func execute(_ statements: String...) throws { try execute(statements) }

  private func execute(_ statements: [String]) throws {
    let connection = try connect()
    defer { connection.close() }
    for sql in statements { try connection.execute(sql) }
  }

  /// Many jobs of each state, and what belongs to them.
  private func fill(_ count: Int) throws {
    var statements = ["jobs", "dependencies", "checkpoints", "errors"].map {
      "ALTER TABLE \($0) SET (autovacuum_enabled = false)"
    }
    statements.append(
      """
      INSERT INTO jobs (lane, state, major, minor, enqueued_at, version, payload, unique_key, worker, run_at, finished_at)
      SELECT 4 + n % 40, n % 8, 10, 10, 1, 1, '{}', CASE WHEN n % 3 = 0 THEN 'key ' || n END, CASE WHEN n % 8 = 3 THEN n % 5 END,
        CASE WHEN n % 8 = 1 THEN n END, CASE WHEN n % 8 IN (5, 6, 7) THEN n END
      FROM generate_series(1, \(count)) AS n
      """)
    statements.append(
      """
      INSERT INTO dependencies (prerequisite, dependent, failing)
      SELECT id - 1, id, id % 4 FROM jobs WHERE id % 8 IN (2, 4) ON CONFLICT DO NOTHING
      """)
    statements.append(
      "INSERT INTO checkpoints (job, data) SELECT id, '' FROM jobs WHERE id % 5 = 0 ON CONFLICT DO NOTHING")
    statements.append(
      "INSERT INTO errors (job, at, attempt, error) SELECT id, 1, 1, 'no' FROM jobs, generate_series(1, 2) WHERE id % 4 = 0"
    )
    try execute(statements)
  }

  // MARK: - Statements

  /// What the store has prepared, without the beginnings of their names.
  func statements() throws -> [Statement] {
    let rows = try harness.execute(
      """
      SELECT substr(name, \("composite_operations_".count + 1)), statement, array_to_string(parameter_types, ';')
      FROM pg_prepared_statements WHERE name LIKE 'composite\\_operations\\_%' ORDER BY name
      """)
    return rows.map { row in
      Statement(
        name: row[0].textValue ?? "", sql: row[1].textValue ?? "",
        types: (row[2].textValue ?? "").split(separator: ";").map(String.init))
    }
  }

  /// The plans for any values, as they are kept, with the settings of the store.
  func plans(of statements: [Statement]) throws -> [String: Plan] {
    let connection = try connect()
    defer { connection.close() }
    for setting in PostgresStore.plans { try connection.execute("SET \(setting) = off") }
    try connection.execute("SET plan_cache_mode = force_generic_plan")
    let plans = try statements.filter(\.hasPlan).map { statement in
      let types = statement.types.isEmpty ? "" : "(\(statement.types.joined(separator: ", ")))"
      let values = statement.types.isEmpty ? "" : "(\(statement.types.map { _ in "NULL" }.joined(separator: ", ")))"
      try connection.execute("PREPARE plan \(types) AS \(statement.sql)")
      defer { try? connection.execute("DEALLOCATE plan") }
      guard let text = try connection.text("EXPLAIN (FORMAT JSON) EXECUTE plan \(values)") else {
        throw TestFailure(text: "there is no plan of \(statement.name)")
      }
      return (statement.name, try Plan(text))
    }
    return Dictionary(plans, uniquingKeysWith: { $1 })
  }

  // MARK: - Functions

  /// What `auto_explain` says of the statements inside of the functions, in a transaction that is
  /// rolled back.
  func plansOfFunctions() throws -> String {
    let some = try harness.execute("SELECT id FROM jobs ORDER BY id LIMIT 9").compactMap { $0[0].integerValue }
    guard let last = try harness.number("SELECT max(id) FROM jobs"), some.count > 4 else {
      throw TestFailure(text: "there are too few jobs")
    }
    let worker = try harness.takeIn()
    let ids = some.map(String.init).joined(separator: ", ")
    let calls = [
      "enqueue_job(4, 10, 10, 0, NULL, NULL, NULL, NULL, false, 1, NULL, 'key 3', '{0,1,2,3,4,6}', true, '{}', NULL, 5)",
      "enqueue_job(4, 10, 10, 0, NULL, NULL, NULL, NULL, false, 1, NULL, 'running', '{0,1,2,3,4}', true, '{}', NULL, 5)",
      "block_job(\(last), '{\(ids)}', 1, 5)",
      "attempts_ended('{3,4,5,6,7,11,13,15,22,23}', 5)", "prerequisites_ended('{10,11,12,13}', 2, NULL, 5)",
      "prerequisites_ended('{17,18,19,20}', 1, NULL, 5)", "retry_job(6, '{6}', 5)", "retry_job(21, '{5}', 5)",
      "delete_jobs('{24,25,26}', '{0,1,2}', '{}', 5)", "prune(0, 90000, 50)", "take_jobs(1, 0, 1, '{3, 11, 19}', 5)",
      "begin_round(\(worker), 0, 0, 60000, 5)", "rescue(\(worker), \(harness.now + 60_000), 0, 1, 5)",
      "enqueue('by sql', '{}', '{\"uniqueKey\": \"key 6\", \"whenTaken\": \"replace\", \"dependsOn\": [\(some[0]), \(some[1])]}')",
    ]
    let script = """
      SET client_min_messages = warning;
      LOAD 'auto_explain';
      SET auto_explain.log_min_duration = 0;
      SET auto_explain.log_nested_statements = on;
      SET auto_explain.log_level = warning;
      SET plan_cache_mode = force_generic_plan;
      SET search_path = "\(schema)";
      BEGIN;
      INSERT INTO jobs (lane, state, major, minor, enqueued_at, version, payload, unique_key, worker)
        VALUES (4, 3, 10, 10, 1, 1, '{}', 'running', 1);
      \(calls.map { "SELECT * FROM \($0);" }.joined(separator: "\n"))
      ROLLBACK;
      """
    return try PostgresServer.sharedBlocking().query(script)
  }
}

extension PlanStage.Statement {
  /// Whether it is a question or a change, not a step of a transaction.
  fileprivate var hasPlan: Bool {
    let first = sql.prefix { $0.isLetter }.uppercased()
    return ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"].contains(first)
  }
}

/// A plan of the server's.
private struct Plan {
  struct Node: CustomStringConvertible {
    let type: String
    let table: String
    let index: String?
    let condition: String?

    /// Indexes of jobs in some states alone.
    private static let partial: Set = ["jobs_order", "jobs_scheduled", "jobs_executing", "jobs_finished", "jobs_aside"]

    /// Whether it reads a table, or an index of all its rows, from one end to the other.
    var readsAll: Bool {
      switch type {
      // A sample has as many pages as it is told.
      case "Seq Scan", "Bitmap Heap Scan": true
      case "Index Scan", "Index Only Scan": condition == nil && !Self.partial.contains(index ?? "")
      default: false
      }
    }

    var description: String { "\(type) \(index ?? "") \(condition ?? "")" }
  }

  private(set) var nodes: [Node] = []

  init(_ json: String) throws {
    let plans = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]] ?? []
    for plan in plans { add(plan["Plan"] as? [String: Any] ?? [:]) }
    if nodes.isEmpty { throw TestFailure(text: "there is no plan: \(json)") }
  }

  private mutating func add(_ node: [String: Any]) {
    nodes.append(
      Node(
        type: node["Node Type"] as? String ?? "", table: node["Relation Name"] as? String ?? "",
        index: node["Index Name"] as? String, condition: node["Index Cond"] as? String))
    for child in node["Plans"] as? [[String: Any]] ?? [] { add(child) }
  }
}
#endif
