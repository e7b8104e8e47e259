import CompositeOperationsCommandLine
import DurableOperations
import Foundation

/// The place of a queue. It must exist: the tool makes no queues.
enum QueuePlace: Equatable, Sendable {
  case file(String)
  /// A schema of a PostgreSQL server. The URL may hold a password, and is never shown: see
  /// ``title``.
  case server(url: String, schema: String)

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static let usualSchema = "durable"

  /// Opens it for changes. Migrates a file of an older version.
  func open() throws -> DurableQueue {
    switch self {
    case .file(let path): try DurableQueue(location: .existingFile(try Self.url(path)))
    case .server(let url, let schema): try Self.open(url, schema)
    }
  }

  /// Opens it for reading. A file stays as it is, and may be one that this user may only read.
  func look() throws -> DurableQueue {
    switch self {
    case .file(let path): try DurableQueue(location: .readOnlyFile(try Self.url(path)))
    // A server can only be opened in this way. The reading commands send nothing that writes.
    case .server: try open()
    }
  }

  private static func open(_ url: String, _ schema: String) throws -> DurableQueue {
    #if os(macOS) || os(Linux)
    try DurableQueue(location: .existingPostgres(url, options(schema)))
    #else
    throw noServers
    #endif
  }

  /// Looks for its problems. Changes nothing.
  func diagnose() throws -> [Diagnosis] {
    switch self {
    case .file(let path): try DurableQueue.diagnose(.readOnlyFile(try Self.url(path)))
    case .server(let url, let schema): try Self.diagnose(url, schema)
    }
  }

  private static func diagnose(_ url: String, _ schema: String) throws -> [Diagnosis] {
    #if os(macOS) || os(Linux)
    try DurableQueue.diagnose(.existingPostgres(url, options(schema)))
    #else
    throw noServers
    #endif
  }

  #if os(macOS) || os(Linux)
  /// Prepares nothing and sets nothing for a session, so that a pooler may stand between: for one
  /// look at a time, nothing else is faster.
  static func options(_ schema: String) -> PostgresOptions {
    PostgresOptions(
      schema: schema, maxConnections: 2, pooler: .transaction, listens: .no, statementTimeout: .seconds(60),
      migrates: false)
  }
  #else
  static let noServers = Failure(description: "Queues on PostgreSQL are for macOS and Linux. Name a file here.")
  #endif

  static func url(_ path: String) throws -> URL {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw Failure(
        description: "There is no file \(path). Check the spelling; a queue makes its file when it is opened.")
    }
    guard !isFolder.boolValue else {
      throw Failure(description: "\(path) is a folder. Name the database file of a queue.")
    }
    return URL(fileURLWithPath: path)
  }

  // MARK: - Showing

  /// Its name: the file as it was written, or the server and its database, without a role and a
  /// password.
  var title: String {
    switch self {
    case .file(let path): path
    case .server(let url, let schema):
      Self.name(url) + (schema == Self.usualSchema ? "" : ", schema \(schema)")
    }
  }

  /// Its name in JSON.
  var json: [(String, JSONText)] {
    switch self {
    case .file(let path): [("file", .string(path))]
    case .server(let url, let schema): [("server", .string(Self.name(url))), ("schema", .string(schema))]
    }
  }

  private static func name(_ url: String) -> String {
    #if os(macOS) || os(Linux)
    DurableQueue.Location.place(url)
    #else
    "PostgreSQL"
    #endif
  }
}

extension QueuePlace: CustomStringConvertible, CustomDebugStringConvertible {
  var description: String { title }
  var debugDescription: String { title }
}
