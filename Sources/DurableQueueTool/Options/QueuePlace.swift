import CompositeOperationsCommandLine
import DurableOperations
import Foundation

/// Where a queue is. It is opened where it is: a tool that looks at queues makes none.
enum QueuePlace: Equatable, Sendable {
  case file(String)
  /// A schema of a PostgreSQL server. The URL may hold a password, and is never shown: see ``title``.
  case server(url: String, schema: String)

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static let usualSchema = "durable"

  /// Opens it to change what is stored. A file of an older version is brought up to date.
  func open() throws -> DurableQueue {
    switch self {
    case .file(let path): try DurableQueue(location: .existingFile(try Self.url(path)))
    case .server(let url, let schema): try Self.open(url, schema)
    }
  }

  /// Opens it to look at it. A file stays as it is, and may be one that this user may only read.
  func look() throws -> DurableQueue {
    switch self {
    case .file(let path): try DurableQueue(location: .readOnlyFile(try Self.url(path)))
    // There is no other way to look at a server. What looks sends nothing that writes.
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

  /// What keeps it from running well. Nothing is changed.
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
  /// Nothing is prepared and nothing set for a session, so that a pooler may stand between: one look at a time is not faster otherwise.
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

  /// What it is called: the file as it was written, or the server and its database, without a role and a password.
  var title: String {
    switch self {
    case .file(let path): path
    case .server(let url, let schema):
      Self.name(url) + (schema == Self.usualSchema ? "" : ", schema \(schema)")
    }
  }

  /// What it is called in JSON.
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
