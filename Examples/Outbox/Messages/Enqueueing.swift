import DurableOperations
import ExampleSupport
import Foundation

/// Stores messages, and digests of them.
struct Enqueueing {
  let database: String

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Stores the files of a folder, in one transaction. Returns the exit status.
  func enqueue(_ folder: String) throws -> Int32 {
    let (messages, unreadable) = try read(folder)
    let queue = try Database.open(database, mayBeNew: true)
    var known = 0
    var refused: [String] = []
    let stored = try queue.transaction { db in
      var stored = 0
      for message in messages {
        do {
          try db.enqueue(message, options: message.options)
          stored += 1
        } catch let error as JobError {
          if case .duplicate = error.code { known += 1 } else { refused.append("\(message.name): \(error)") }
        }
      }
      return stored
    }
    try StandardStream.output.write(
      "\(Wording.count(stored, "message")) stored"
        + (known > 0 ? ", \(known) \(known == 1 ? "was" : "were") there already" : "") + ".\n")
    for complaint in unreadable + refused { OutboxCommand.complain(complaint) }
    return unreadable.isEmpty && refused.isEmpty ? OutboxCommand.ExitStatus.good : OutboxCommand.ExitStatus.failed
  }

  /// The visible files of a folder by their names, and complaints about what can not be read.
  private func read(_ folder: String) throws -> (messages: [Message], unreadable: [String]) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else {
      throw Failure(description: "There is no folder \(folder). Check the spelling.")
    }
    guard isFolder.boolValue else {
      throw Failure(description: "\(folder) is a file. Name the folder that it is in.")
    }
    var messages: [Message] = []
    var unreadable: [String] = []
    let url = URL(fileURLWithPath: folder)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where !name.hasPrefix(".") {
      let file = url.appendingPathComponent(name)
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), isFolder.boolValue { continue }
      do {
        messages.append(Message(name: name, content: try Data(contentsOf: file)))
      } catch {
        unreadable.append("\(file.path) can not be read: \(error.localizedDescription)")
      }
    }
    return (messages, unreadable)
  }

  /// Stores a digest of all messages. Returns the exit status.
  func enqueueDigest() throws -> Int32 {
    let queue = try Database.open(database)
    let digest = Digest(messages: try Database.messages(of: queue).map(\.id))
    guard !digest.messages.isEmpty else {
      throw Failure(description: "There are no messages in \(database). Store some: Outbox enqueue FOLDER")
    }
    do {
      let id = try queue.enqueue(digest, options: digest.options)
      try StandardStream.output.write("Digest \(id) of \(Wording.count(digest.messages.count, "message")) stored.\n")
    } catch let error as JobError {
      guard case .duplicate(let other) = error.code else { throw error }
      try StandardStream.output.write("The digest of these messages is stored already, as \(other).\n")
    }
    return OutboxCommand.ExitStatus.good
  }
}
