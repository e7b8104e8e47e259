import DurableOperations
import Foundation

/// The file that everything is stored in.
enum Database {
  enum Failure: Error, CustomStringConvertible {
    case isMissing(String)
    /// Of another program; or whoever made it was killed before it was complete.
    case hasNoQueue(String)

    var description: String {
      switch self {
      case .isMissing(let path):
        "There is no database \(path). Store messages first: Outbox enqueue FOLDER\(option(path))"
      case .hasNoQueue(let path):
        "\(path) is no database of messages. If it should be one, `enqueue` was killed while it made it: run it again, "
          + "Outbox enqueue FOLDER\(option(path)). Otherwise name another one with --database."
      }
    }
  }

  /// Opens it. Only what stores messages makes it.
  static func open(_ path: String, mayBeNew: Bool = false, width: Int = 4) throws -> DurableQueue {
    guard mayBeNew || FileManager.default.fileExists(atPath: path) else { throw Failure.isMissing(path) }
    var configuration = DurableQueue.Configuration()
    // What happens to messages is told by the commands.
    configuration.logHandler = nil
    configuration.maxConcurrentJobs = width
    // This program is there to be killed, any number of times in a row while the same message is under way, which is not
    // to blame. A program that nobody kills keeps the default: a job that ends every process that runs it is dead then.
    configuration.maxCrashes = nil
    // What was sent is remembered, so that it is not stored anew.
    configuration.retention = .forever
    // Stored are four characters for three bytes, and twice as many at worst, for JSON escapes slashes.
    configuration.maxPayloadSize = 3 * Message.largestContent
    let file = URL(fileURLWithPath: path)
    do {
      return try DurableQueue(location: mayBeNew ? .file(file) : .existingFile(file), configuration: configuration)
    } catch let error as DatabaseError where error.code == .notAQueue {
      throw Failure.hasNoQueue(path)
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

  /// What names a database on the command line of Outbox: nothing for the one that it takes anyway.
  static func option(_ path: String) -> String {
    path == RunOptions.defaultDatabase ? "" : " --database \(word(path))"
  }

  /// A path as a shell takes it.
  static func word(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
        true
      default: "._-/+,@:".utf8.contains(byte)
      }
    }
    return isPlain ? path : "'\(path.replacingOccurrences(of: "'", with: "'\\''"))'"
  }
}
