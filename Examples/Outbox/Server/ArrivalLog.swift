import Foundation

/// A file with a line for each message that has arrived.
final class ArrivalLog: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let file: FileHandle
  /// The content of the file when it was opened.
  let arrivals: [MessageService.Arrival]

  /// Opens a file, or makes it.
  init(path: String) throws(Failure) {
    let manager = FileManager.default
    if !manager.fileExists(atPath: path), !manager.createFile(atPath: path, contents: nil) {
      throw Failure(description: "The log \(path) cannot be made. Name a file in a folder that can be written to.")
    }
    guard let content = manager.contents(atPath: path), let file = FileHandle(forUpdatingAtPath: path) else {
      throw Failure(description: "The log \(path) cannot be read and written. Name another one with --log.")
    }
    self.file = file
    do {
      try file.seekToEnd()
      // The last line is torn if the server was killed while it wrote it; no client has an answer
      // for that message.
      if let last = content.last, last != UInt8(ascii: "\n") { try file.write(contentsOf: Data("\n".utf8)) }
    } catch {
      throw Failure(description: "The log \(path) cannot be written: \(error.localizedDescription)")
    }
    let decoder = JSONDecoder()
    arrivals = content.split(separator: UInt8(ascii: "\n")).compactMap {
      try? decoder.decode(MessageService.Arrival.self, from: $0)
    }
  }

  func write(_ arrival: MessageService.Arrival) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try file.write(contentsOf: try encoder.encode(arrival) + Data("\n".utf8))
  }
}
