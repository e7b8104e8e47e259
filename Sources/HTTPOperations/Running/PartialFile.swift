import Foundation

/// A file that is being downloaded: it grows next to where it belongs, and is moved there when it is complete.
final class PartialFile: @unchecked Sendable {  // used by the callbacks of one task, which come one after the other
  let destination: URL
  private let place: URL
  private let handle: FileHandle

  init(for destination: URL) throws {
    self.destination = destination
    let folder = destination.deletingLastPathComponent()
    place = folder.appendingPathComponent(".\(UUID().uuidString).part")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data().write(to: place, options: .withoutOverwriting)
    do {
      handle = try FileHandle(forWritingTo: place)
    } catch {
      try? FileManager.default.removeItem(at: place)
      throw error
    }
  }

  func write(_ data: Data) throws {
    try handle.write(contentsOf: data)
  }

  /// Puts the file where it belongs, in one step.
  func finish() throws {
    try handle.close()
    guard rename(place.path, destination.path) == 0 else {
      let code = POSIXErrorCode(rawValue: errno) ?? .EIO
      discard()
      throw POSIXError(code)
    }
  }

  func discard() {
    try? handle.close()
    try? FileManager.default.removeItem(at: place)
  }
}
