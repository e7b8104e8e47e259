import DurableOperations
import Foundation

/// Where everything is stored.
enum Database: Equatable, Sendable {
  case file(String)
  /// A schema of a PostgreSQL server. The URL may hold a password, and is never shown: see ``title`` and ``words``.
  case server(url: String, schema: String)

  static let usual = Database.file("outbox.sqlite")
  /// That of the queue itself, so that `durable-queue` need not be told.
  static let usualSchema = "durable"

  enum Failure: Error, CustomStringConvertible {
    case isMissing(Database)
    /// Of another program; or whoever made it was killed before it was complete.
    case hasNoQueue(Database, DatabaseError)
    /// Nothing is known of PostgreSQL on this platform.
    case isNoServer

    var description: String {
      switch self {
      case .isMissing(let database):
        "There is no database \(database.title). Store messages first: Outbox enqueue FOLDER\(database.options)"
      case .hasNoQueue(.file(let path), _):
        "\(path) is no database of messages. If it should be one, `enqueue` was killed while it made it: run it again, "
          + "Outbox enqueue FOLDER\(Database.file(path).options). Otherwise name another one with --database."
      case .hasNoQueue(let database, let error):
        "There are no messages in \(error.place) (\(error.message)). Store some first: "
          + "Outbox enqueue FOLDER\(database.options)"
      case .isNoServer: "Messages are stored on a server on macOS and Linux alone. Name a file here, with --database."
      }
    }
  }

  /// Opens it. Only what stores messages makes it.
  func open(mayBeNew: Bool = false, width: Int = 4) throws -> DurableQueue {
    if case .file(let path) = self, !mayBeNew, !FileManager.default.fileExists(atPath: path) {
      throw Failure.isMissing(self)
    }
    var configuration = DurableQueue.Configuration()
    // What happens to messages is told by the commands.
    configuration.logHandler = nil
    configuration.maxConcurrentOperationCount = width
    // This program is there to be killed, any number of times in a row while the same message is under way, which is not
    // to blame. A program that nobody kills keeps the default: a job that ends every process that runs it is dead then.
    configuration.maxCrashes = nil
    // What was sent is remembered, so that it is not stored anew.
    configuration.retention = .forever
    // Stored are four characters for three bytes, and twice as many at worst, for JSON escapes slashes.
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
      // A message may be three megabytes as it is stored, and the way to the server slow.
      let options = PostgresOptions(schema: schema, statementTimeout: .seconds(60))
      return mayBeNew ? .postgres(url, options) : .existingPostgres(url, options)
      #else
      throw Failure.isNoServer
      #endif
    }
  }

  /// The jobs of a kind, in their order.
  static func jobs(_ kind: String, in states: Set<JobState>? = nil, of queue: DurableQueue) throws -> [JobRecord] {
    var all: [JobRecord] = []
    while true {
      let page = try queue.jobs(kind: kind, in: states, after: all.last?.id, limit: 500)
      if page.isEmpty { return all }
      all += page
    }
  }

  // MARK: - In advice

  /// What it is called: the file as it was written, or the schema.
  var title: String {
    switch self {
    case .file(let path): path
    case .server(_, let schema): "the schema \(schema) of the server"
    }
  }

  /// What names it on the command line of Outbox, behind other words: nothing for the one that it takes anyway.
  var options: String {
    switch self {
    case .usual: ""
    case .file: " --database \(words)"
    case .server: " --store \(words)"
    }
  }

  /// What names it on the command line of `durable-queue`. The user knows the URL, and the password in it.
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
