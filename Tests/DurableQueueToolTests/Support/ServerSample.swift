#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport

@testable import DurableQueueTool

/// A queue on the server of this process, in a schema of its own.
struct ServerSample: Sendable {
  let server: PostgresServer
  let schema: String
  /// For a superuser.
  let url: String

  /// - Parameter isMade: whether there are tables.
  init(on server: PostgresServer? = nil, isMade: Bool = true) async throws {
    self.server = if let server { server } else { try await PostgresServer.shared }
    schema = "tool\(self.server.uniqueNumber())"
    url = self.server.url() + "&connect_timeout=1200"
    if isMade { _ = try queue() }
  }

  func queue() throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.retention = .forever
    // So long that no busy machine needs it.
    let options = PostgresOptions(schema: schema, statementTimeout: .seconds(1200))
    return try DurableQueue(location: .postgres(url, options), configuration: configuration)
  }

  /// Runs the tool about the queue.
  func run(_ verb: String, _ rest: String..., as url: String? = nil) -> Ran {
    tool([verb, url ?? self.url] + rest + ["--schema", schema])
  }

  /// A URL that says the password of the role that has one.
  var guardedURL: String {
    let password = PostgresServer.password.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return server.url(role: "\(PostgresServer.guardedRole):\(password)")
  }

  /// Lets the role that has a password use the tables.
  func letGuardedIn() throws {
    let script = DurableQueue.schemaScript(schema: schema, role: PostgresServer.guardedRole)
    try server.query(script.split(separator: "\n").filter { $0.hasPrefix("GRANT") }.joined(separator: "\n"))
  }
}
#endif
