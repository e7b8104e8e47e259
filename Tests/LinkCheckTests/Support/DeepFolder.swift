import Foundation

/// A folder in a temporary one that is nested too deep for any path to reach it.
///
/// It is put together, and taken apart, from pieces that can be named.
final class DeepFolder: Sendable {
  /// Its path in the temporary folder.
  let name: String

  private static let part = "nested-dir"
  private static let piece = Array(repeating: part, count: 50).joined(separator: "/")
  private let folder: TemporaryFolder
  private let pieces: Int

  /// - Parameter pieces: How many times 50 folders are around it.
  init(_ files: [String: String], pieces: Int, in folder: TemporaryFolder) throws {
    self.folder = folder
    self.pieces = pieces
    name = Array(repeating: Self.piece, count: pieces).joined(separator: "/")
    let manager = FileManager.default
    let (top, inner) = (folder.path + "/" + Self.part, folder.path + "/inner")
    for (file, content) in files { try folder.write(content, to: Self.piece + "/" + file) }
    for _ in 1..<pieces {
      try manager.moveItem(atPath: top, toPath: inner)
      try manager.createDirectory(atPath: folder.path + "/" + Self.piece, withIntermediateDirectories: true)
      try manager.moveItem(atPath: inner, toPath: folder.path + "/" + Self.piece + "/" + Self.part)
    }
  }

  deinit {
    let manager = FileManager.default
    let (top, inner) = (folder.path + "/" + Self.part, folder.path + "/inner")
    for _ in 1..<pieces {
      try? manager.moveItem(atPath: folder.path + "/" + Self.piece + "/" + Self.part, toPath: inner)
      try? manager.removeItem(atPath: top)
      try? manager.moveItem(atPath: inner, toPath: top)
    }
  }
}
