#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A schema of one test, on a server of the tests.
struct TestSchema {
  let server: PostgresServer
  let name: String

  /// - Parameter server: that of the process unless given.
  init(on server: PostgresServer? = nil) async throws {
    if let server { self.server = server } else { self.server = try await .shared }
    name = "test schema \(self.server.uniqueNumber())"
  }

  /// - Parameter port: that of a proxy.
  func url(port: UInt16? = nil) -> String {
    port.map { server.addressURL(port: $0) } ?? server.url() + "&connect_timeout=1200"
  }

  func options(
    statementTimeout: Duration = .seconds(1200), pooler: PostgresOptions.Pooler = .none
  ) -> PostgresOptions {
    // So long that no busy machine needs it.
    PostgresOptions(schema: name, pooler: pooler, statementTimeout: statementTimeout)
  }

  func location(port: UInt16? = nil, pooler: PostgresOptions.Pooler = .none) -> DurableQueue.Location {
    .postgres(url(port: port), options(pooler: pooler))
  }

  /// A queue on it.
  func queue(
    _ options: PostgresOptions, port: UInt16? = nil, _ configuration: DurableQueue.Configuration
  ) async throws -> DurableQueue {
    let location = DurableQueue.Location.postgres(url(port: port), options)
    return try await onWorker { Result { try DurableQueue(location: location, configuration: configuration) } }.get()
  }

  /// What a program is told of it.
  func arguments(port: UInt16? = nil) -> [String] { ["store=\(url(port: port))", "schema=\(name)"] }

  /// A look at it from outside, and not through a proxy.
  func inspection() async throws -> SchemaInspection {
    let (url, name) = (server.url(), name)
    return try await onWorker { Result { try SchemaInspection(url, schema: name) } }.get()
  }
}

extension PostgresConfiguration {
  /// With time limits so long that no busy machine needs them.
  static func patient(_ url: String) -> Self {
    var configuration = Self(url: url)
    configuration.statementTimeout = .seconds(1200)
    configuration.connectTimeout = .seconds(1200)
    return configuration
  }
}

/// A look at a schema from outside.
final class SchemaInspection: Sendable {
  private let connection: PostgresConnection

  init(_ url: String, schema: String) throws {
    var configuration = PostgresConfiguration.patient(url)
    configuration.settings = [("search_path", PostgresStatement.identifier(schema))]
    connection = try PostgresConnection.connect(configuration)
  }

  func numbers(_ sql: String) throws -> [Int64] {
    try connection.run(.reading, PostgresStatement(sql)).map { $0.optionalInteger(0) ?? .min }
  }

  func number(_ sql: String) throws -> Int64 { try numbers(sql).first ?? .min }

  func text(_ sql: String) throws -> String? { try connection.text(sql) }

  func execute(_ sql: String) throws { try connection.execute(sql) }

  func ids(in state: JobState) throws -> Set<Int64> {
    Set(try numbers("SELECT id FROM jobs WHERE state = \(state.rawValue)"))
  }

  func count(in state: JobState) throws -> Int {
    Int(try number("SELECT count(*) FROM jobs WHERE state = \(state.rawValue)"))
  }

  /// Looks again and again, until something holds.
  func wait(until condition: (SchemaInspection) throws -> Bool) async throws {
    try await until(try condition(self))
  }

  /// Sets the server's clock, as far as queues of the schema see it.
  func setClock(ahead duration: Duration) throws {
    try execute(
      """
      CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
        $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + \(duration.milliseconds) $$
      """)
  }

  /// Whether there are tables.
  func isMade() throws -> Bool {
    try number("SELECT count(*) FROM pg_tables WHERE tablename = 'periodic' AND schemaname = current_schema()") == 1
  }

  /// What does not fit together.
  func problems() throws -> [String] {
    try connection.run(
      .reading,
      PostgresStatement(
        """
        SELECT 'job ' || id || ' has ' || blockers || ' blockers' FROM jobs
          WHERE blockers <> (SELECT count(*) FROM dependencies WHERE dependent = id)
        UNION ALL SELECT 'job ' || id || ' is blocked by nothing' FROM jobs WHERE state = 2 AND blockers = 0
        UNION ALL SELECT 'job ' || id || ' in state ' || state || ' has the worker ' || coalesce(worker, 0) FROM jobs
          WHERE (state = 3) <> (worker IS NOT NULL)
        UNION ALL SELECT dependent || ' waits for ' || prerequisite || ', and one of them is not there' FROM dependencies
          WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = prerequisite)
            OR NOT EXISTS (SELECT 1 FROM jobs WHERE id = dependent)
        UNION ALL SELECT 'a checkpoint of ' || job FROM checkpoints WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = job)
        UNION ALL SELECT 'errors of ' || job FROM errors WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = job)
        UNION ALL SELECT 'rounds of ' || worker FROM rounds WHERE NOT EXISTS (SELECT 1 FROM workers WHERE id = worker)
        """)
    ).map { $0.text(0) ?? "" }
  }
}
#endif
