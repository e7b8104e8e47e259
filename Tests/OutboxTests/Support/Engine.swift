#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

/// What stores the messages of a test.
enum Engine: CaseIterable, CustomTestStringConvertible {
  case sqlite
  case postgres

  /// Those of this machine.
  static var available: [Engine] { PostgresServer.isAvailable ? allCases : [.sqlite] }

  var testDescription: String {
    switch self {
    case .sqlite: "SQLite"
    case .postgres: "PostgreSQL"
    }
  }

  /// A place for messages that nothing else uses: a file of a folder, or a schema of the server of
  /// this process.
  ///
  /// - Parameter file: its name. Without one it is the file that Outbox takes anyway.
  func place(_ file: String? = nil, in folder: TemporaryFolder) async throws -> Place {
    switch self {
    case .sqlite:
      let url = URL(fileURLWithPath: folder.path + "/" + (file ?? "outbox.sqlite"))
      return Place(
        options: file.map { ["--database", $0] } ?? [], advice: file.map { " --database \($0)" } ?? "",
        words: file ?? "outbox.sqlite", location: .file(url))
    case .postgres:
      let server = try await PostgresServer.shared
      let schema = "outbox\(server.uniqueNumber())"
      // So long that no busy machine needs it.
      let options = PostgresOptions(schema: schema, statementTimeout: .seconds(1200))
      let url = server.url() + "&connect_timeout=1200"
      return Place(
        options: ["--store", url, "--schema", schema], advice: " --store URL --schema \(schema)",
        words: "URL --schema \(schema)", location: .postgres(url, options))
    }
  }
}

/// Where the messages of a test are.
struct Place: Sendable {
  /// What names it on the command line of Outbox.
  let options: [String]
  /// The same as Outbox writes it in advice.
  let advice: String
  /// What names it on the command line of `durable-queue`, as Outbox writes it in advice.
  let words: String
  let location: DurableQueue.Location

  /// To look at what is stored, and to change it.
  func queue() throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.retention = .forever
    return try DurableQueue(location: location, configuration: configuration)
  }
}
#endif
