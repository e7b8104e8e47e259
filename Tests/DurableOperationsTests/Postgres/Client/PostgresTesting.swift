#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

extension Trait where Self == ConditionTrait {
  /// Skips what needs a server where there is none.
  static var needsPostgres: Self { .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.missing)") }
}

/// A database of one test.
struct PostgresDatabase {
  let server: PostgresServer
  let name: String

  init() async throws {
    server = try await PostgresServer.shared
    name = try await server.makeDatabase()
  }

  /// - Parameter port: that of a proxy.
  func configuration(port: UInt16? = nil) -> PostgresConfiguration {
    var configuration = PostgresConfiguration(url: port.map { server.addressURL(name, port: $0) } ?? server.url(name))
    // So long that no busy machine needs it.
    configuration.statementTimeout = .seconds(1200)
    configuration.connectTimeout = .seconds(1200)
    return configuration
  }

  func connect(port: UInt16? = nil) async throws -> PostgresConnection {
    let configuration = configuration(port: port)
    return try await onWorker { Result { try PostgresConnection.connect(configuration) } }.get()
  }
}

extension PostgresConnection {
  /// Runs statements that give nothing.
  func execute(_ statements: String...) throws {
    for sql in statements { try run(.implicit, PostgresStatement(sql)) }
  }

  func integer(_ sql: String) throws -> Int64? { try run(.reading, PostgresStatement(sql)).first { $0.integer(0) } }

  func text(_ sql: String) throws -> String? { try run(.reading, PostgresStatement(sql)).first { $0.text(0) } ?? nil }
}

/// The error of the client layer that something throws.
func postgresError(_ body: () throws -> Void) -> PostgresError? {
  do {
    try body()
    return nil
  } catch {
    return error as? PostgresError
  }
}
#endif
