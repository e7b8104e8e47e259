import DurableOperations
import Foundation

/// The place that stores everything.
enum Database: Equatable, Sendable {
  case file(String)
  /// A schema of a PostgreSQL server. The URL may hold a password, and is never shown: see
  /// ``title`` and ``words``.
  case server(url: String, schema: String)

  static let usual = Database.file("outbox.sqlite")
  /// The default of the queue itself, so that `durable-queue` needs no option.
  static let usualSchema = "durable"

  enum Failure: Error, CustomStringConvertible {
    case isMissing(Database)
    /// It belongs to another program, or its creator was killed before it was complete.
    case hasNoQueue(Database, DatabaseError)
    /// This platform has no PostgreSQL.
    case isNoServer

    var description: String {
      switch self {
      case .isMissing(let database):
        "There is no database \(database.title). Store messages first: Outbox enqueue FOLDER\(database.options)"
      case .hasNoQueue(.file(let path), _):
        "\(path) is no database of messages. If it should be one, `enqueue` was killed while it made it: run it again, "
          + "Outbox enqueue FOLDER\(Database.file(path).options). Otherwise name another one with --database."
      case .hasNoQueue(let database, let error):
        "There are no messages in \(error.path) (\(error.message)). Store some first: "
          + "Outbox enqueue FOLDER\(database.options)"
      case .isNoServer: "Messages are stored on a server on macOS and Linux alone. Name a file here, with --database."
      }
    }
  }

  /// Opens it. Only commands that store messages make it.
  func open(mayBeNew: Bool = false, width: Int = 4) throws -> DurableQueue {
    if case .file(let path) = self, !mayBeNew, !FileManager.default.fileExists(atPath: path) {
      throw Failure.isMissing(self)
    }
    var configuration = DurableQueue.Configuration()
    // The commands report what happens to messages.
    configuration.logHandler = nil
    configuration.maxConcurrentOperationCount = width
    // This program is made to be killed, any number of times in a row during the same message,
    // which is not to blame. Other programs keep the default: a job that ends each process that
    // runs it dies.
    configuration.maxCrashes = nil
    // Sent messages are remembered, so that they are not stored again.
    configuration.retention = .forever
    // Four characters are stored for three bytes, and at worst twice as many, since JSON escapes
    // slashes.
    configuration.maxPayloadSize = 3 * Message.largestContent
    do {
      return try DurableQueue(location: location(mayBeNew: mayBeNew), configuration: configuration)
    } catch let error as DatabaseError where error.code == .notAQueue {
      throw Failure.hasNoQueue(self, error)
    }
  }

  private func location(mayBeNew: Bool) throws -> DurableQueue.Location {
    switch self {
    case .file(let path):
      let file = URL(fileURLWithPath: path)
      return mayBeNew ? .file(file) : .existingFile(file)
    case .server(let url, let schema):
      #if os(macOS) || os(Linux)
      // A stored message may have three megabytes, and the way to the server may be slow.
      let options = PostgresOptions(schema: schema, statementTimeout: .seconds(60))
      return mayBeNew ? .postgres(url, options) : .existingPostgres(url, options)
      #else
      throw Failure.isNoServer
      #endif
    }
  }

  /// The jobs of a kind, in the order of their numbers.
  static func jobs(_ kind: String, in states: Set<JobState>? = nil, of queue: DurableQueue) throws -> [JobRecord] {
    var all: [JobRecord] = []
    while true {
      let page = try queue.jobs(kind: kind, in: states, after: all.last?.id, limit: 500)
      if page.isEmpty { return all }
      all += page
    }
  }

  // MARK: - In advice

  /// Its name: the file as it was written, or the schema.
  var title: String {
    switch self {
    case .file(let path): path
    case .server(_, let schema): "the schema \(schema) of the server"
    }
  }

  /// Its options on the command line of Outbox: none for the default.
  var options: String {
    switch self {
    case .usual: ""
    case .file: " --database \(words)"
    case .server: " --store \(words)"
    }
  }

  /// Its words on the command line of `durable-queue`. The user knows the URL, and the password in
  /// it.
  var words: String {
    switch self {
    case .file(let path): Self.word(path)
    case .server(_, let schema): "URL" + (schema == Self.usualSchema ? "" : " --schema \(Self.word(schema))")
    }
  }

  /// A word as a shell takes it.
  private static func word(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
        true
      default: "._-/+,@:".utf8.contains(byte)
      }
    }
    return isPlain ? text : "'\(text.replacingOccurrences(of: "'", with: "'\\''"))'"
  }
}
