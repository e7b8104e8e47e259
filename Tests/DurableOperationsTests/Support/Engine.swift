import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// What stores the jobs of a test.
enum Engine: CaseIterable, CustomTestStringConvertible {
  case sqlite
  case postgres

  /// Those of this machine.
  static var available: [Engine] {
    #if os(macOS) || os(Linux)
    PostgresServer.isAvailable ? allCases : [.sqlite]
    #else
    [.sqlite]
    #endif
  }

  var testDescription: String {
    switch self {
    case .sqlite: "SQLite"
    case .postgres: "PostgreSQL"
    }
  }

  /// A place that nothing else uses: in memory, or a schema of the server of this process.
  ///
  /// - Parameter listens: whether a queue hears of others' jobs. It looks around when it begins to,
  ///   whenever that is.
  func location(listens: Bool = true) throws -> DurableQueue.Location {
    switch self {
    case .sqlite: return .memory
    case .postgres:
      #if os(macOS) || os(Linux)
      let server = try PostgresServer.sharedBlocking()
      let schema = "engine\(server.uniqueNumber())"
      // Tables of the test's are made there, too.
      let url = server.url() + "&connect_timeout=1200&options=-csearch_path%3D\(schema)"
      // So long that no busy machine needs it.
      return .postgres(
        url, PostgresOptions(schema: schema, listens: listens ? .yes : .no, statementTimeout: .seconds(1200)))
      #else
      throw TestFailure(text: "there is no such engine on this platform")
      #endif
    }
  }

  /// The name of a table of the queue's, such as `jobs`.
  func table(_ name: String) -> String {
    switch self {
    case .sqlite: "durable_\(name)"
    case .postgres: name
    }
  }

  /// The operator of equality: the server's own, whatever operators stand before it in the path.
  var equals: String {
    switch self {
    case .sqlite: "="
    case .postgres: "OPERATOR(pg_catalog.=)"
    }
  }
}
