import DurableOperations
import Foundation

/// The file that everything is stored in.
enum Database {
  struct Missing: Error, CustomStringConvertible {
    let path: String

    var description: String {
      "There is no database \(path). Store messages first: Outbox enqueue FOLDER --database \(path)"
    }
  }

  /// Opens it. Only what stores messages makes it.
  static func open(_ path: String, mayBeNew: Bool = false, width: Int = 4) throws -> DurableQueue {
    guard mayBeNew || FileManager.default.fileExists(atPath: path) else { throw Missing(path: path) }
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentJobs = width
    // Who kills this program does it on purpose: no message is to blame, however often it happens to one.
    configuration.maxCrashes = nil
    // What was sent is remembered, so that it is not stored anew.
    configuration.retention = .forever
    let file = URL(fileURLWithPath: path)
    return try DurableQueue(location: mayBeNew ? .file(file) : .existingFile(file), configuration: configuration)
  }

  /// The messages, in their order.
  static func messages(of queue: DurableQueue) throws -> [JobRecord] {
    var all: [JobRecord] = []
    while true {
      let page = try queue.jobs(kind: Message.kind, after: all.last?.id, limit: 500)
      if page.isEmpty { return all }
      all += page
    }
  }
}
