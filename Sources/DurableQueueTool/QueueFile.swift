import DurableOperations
import Foundation

/// Opens files that are there: a tool that looks at queues makes none.
enum QueueFile {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Opens a file to change it. One of an older version is brought up to date.
  static func open(_ path: String) throws -> DurableQueue {
    try DurableQueue(location: .existingFile(try url(path)))
  }

  /// Opens a file to look at it. It stays as it is, and may be one that this user may only read.
  static func look(_ path: String) throws -> DurableQueue {
    try DurableQueue(location: .readOnlyFile(try url(path)))
  }

  private static func url(_ path: String) throws -> URL {
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

  /// How many bytes a database takes, with its log.
  static func size(_ path: String) -> Int {
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    return ["", "-wal"].reduce(0) { sum, suffix in
      let attributes = try? FileManager.default.attributesOfItem(atPath: file + suffix)
      return sum + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
    }
  }
}
