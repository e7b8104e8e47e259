import DurableOperations
import ExampleSupport
import Foundation

/// Stores messages, and digests of them.
struct Enqueueing {
  let database: Database

  /// Stores the files of a folder, in one transaction. Returns the exit status.
  func enqueue(_ folder: String) throws -> Int32 {
    let files = try MessageFolder(folder)
    let queue = try database.open(mayBeNew: true)
    var known = 0
    var refused: [String] = []
    let stored = try queue.transaction { db in
      var stored = 0
      for message in files.messages {
        do {
          try db.enqueue(message, options: message.options)
          stored += 1
        } catch let error as JobError {
          if error.code == .duplicate { known += 1 } else { refused.append("\(message.name): \(error)") }
        }
      }
      return stored
    }
    try StandardStream.output.write(
      "\(Wording.count(stored, "message")) stored"
        + (known > 0 ? ", \(known) \(known == 1 ? "was" : "were") there already" : "") + ".\n")
    let complaints = files.complaints + refused
    for text in files.remarks + complaints { OutboxCommand.complain(text) }
    return complaints.isEmpty ? OutboxCommand.ExitStatus.good : OutboxCommand.ExitStatus.failed
  }

  /// Stores a digest of all messages. Returns the exit status.
  func enqueueDigest() throws -> Int32 {
    let queue = try database.open()
    let digest = Digest(messages: try Database.jobs(Message.kind, of: queue).map(\.id))
    guard !digest.messages.isEmpty else {
      throw MessageFolder.Failure(
        description: "There are no messages in \(database.title). Store some: "
          + "Outbox enqueue FOLDER\(database.options)")
    }
    do {
      let id = try queue.enqueue(digest, options: digest.options)
      try StandardStream.output.write("Digest \(id) of \(Wording.count(digest.messages.count, "message")) stored.\n")
    } catch let error as JobError {
      guard error.code == .duplicate, let other = error.otherJob else { throw error }
      try StandardStream.output.write("The digest of these messages is stored already, as \(other).\n")
    }
    return OutboxCommand.ExitStatus.good
  }
}
