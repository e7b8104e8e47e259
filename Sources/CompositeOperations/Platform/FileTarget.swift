import Foundation

/// Where a file is written: at the end of the links that a URL leads through, so that they stay.
///
/// A regular file is replaced as a whole. What is not a regular file is not replaced: a new file
/// would destroy a device, a pipe or a socket. The name of an open descriptor, such as
/// `/dev/stdout`, counts as such even if it leads to a file.
package struct FileTarget {
  package let url: URL
  /// The descriptor that the URL names. Opened by its name, a file would be written from its
  /// beginning.
  package let descriptor: Int32?
  private let type: FileAttributeType?

  /// Whether a new file may stand there: there is a regular file, or nothing.
  package var isReplaceable: Bool { descriptor == nil && (type == nil || type == .typeRegular) }

  /// Follows the links. Throws for a folder, a circle of links, and a URL that names no file.
  package init(of start: URL) throws {
    guard start.isFileURL else {
      throw CocoaError(.fileWriteUnsupportedScheme, userInfo: [NSURLErrorKey: start])
    }
    let manager = FileManager.default
    var end = start
    // As many as the system follows.
    for _ in 0...40 {
      let descriptor = Self.descriptor(of: end)
      guard descriptor == nil, let next = try? manager.destinationOfSymbolicLink(atPath: end.path) else {
        type = try? manager.attributesOfItem(atPath: end.path)[.type] as? FileAttributeType
        if descriptor == nil, type == .typeDirectory { throw POSIXError(.EISDIR) }
        (url, self.descriptor) = (end, descriptor)
        return
      }
      let folder = next.hasPrefix("/") ? "" : end.deletingLastPathComponent().path + "/"
      end = URL(fileURLWithPath: folder + next)
    }
    throw POSIXError(.ELOOP)
  }

  /// The place for a new file. Throws if what is there is not a regular file.
  package static func ofNewFile(_ url: URL) throws -> URL {
    let target = try FileTarget(of: url)
    guard !target.isReplaceable else { return target.url }
    let problem = "“\(target.url.path)” is not a regular file, so it is not replaced."
    throw CocoaError(
      .fileWriteUnknown, userInfo: [NSFilePathErrorKey: target.url.path, NSLocalizedDescriptionKey: problem])
  }

  private static func descriptor(of url: URL) -> Int32? {
    let parts = url.standardized.pathComponents
    switch parts.dropLast() {
    case ["/", "dev"]: return ["stdin": 0, "stdout": 1, "stderr": 2][parts[2]]
    case ["/", "dev", "fd"], ["/", "proc", "self", "fd"]: return parts.last.flatMap { Int32($0) }
    default: return nil
    }
  }
}
