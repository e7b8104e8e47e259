import Foundation

/// Reading, with errors that name the file.
enum InputFile {
  static let pieceSize = 64 * 1_024

  static func open(_ path: String, remedy: String = "Make it readable, then retry the task.") throws -> FileHandle {
    do {
      return try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    } catch {
      throw FileError("\(path) cannot be read", error, remedy: remedy)
    }
  }

  /// The next bytes; nil at the end.
  static func piece(of file: FileHandle, _ path: String) throws -> [UInt8]? {
    do {
      guard let data = try file.read(upToCount: pieceSize), !data.isEmpty else { return nil }
      return [UInt8](data)
    } catch {
      throw FileError("\(path) cannot be read", error, remedy: "Check the disk, then retry the task.")
    }
  }
}

/// Writing, with errors that name the file.
enum OutputFile {
  private static let remedy = "See whether the disk is full or the folder is protected, then retry the task."

  static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw FileError("The folder \(path) cannot be made", error, remedy: remedy)
    }
  }

  /// Makes an empty file, or empties the one that is there.
  ///
  /// - Parameter target: what errors name: where the file will be when it is complete.
  static func open(_ path: String, for target: String) throws -> FileHandle {
    do {
      try Data().write(to: URL(fileURLWithPath: path))
      return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    } catch {
      throw FileError("\(target) cannot be written", error, remedy: remedy)
    }
  }

  static func append(_ bytes: [UInt8], to file: FileHandle, _ path: String) throws {
    do {
      try file.write(contentsOf: Data(bytes))
    } catch {
      throw FileError("\(path) cannot be written", error, remedy: remedy)
    }
  }

  /// Gives a file another name, also if there is one of that name already.
  static func move(_ path: String, to target: String) throws {
    guard rename(path, target) != 0 else { return }
    let reason = String(cString: strerror(errno))
    throw FileError("\(target) cannot be written: \(reason).", remedy: remedy)
  }

  static func write(_ data: Data, to path: String) throws {
    do {
      try data.write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw FileError("\(path) cannot be written", error, remedy: remedy)
    }
  }

  static func write(_ value: some Encodable, to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try write(try encoder.encode(value) + Data("\n".utf8), to: path)
  }
}
