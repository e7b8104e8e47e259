import Foundation

extension DurableQueue.Location {
  /// Makes the folder and the file, so that no other user can read the file from its first byte on.
  func prepareFile(at url: URL, access: DurableQueue.FileAccess) throws {
    switch self {
    case .existingFile, .readOnlyFile: return try Self.requireFile(at: url)
    default: break
    }
    let folder = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw DatabaseError(
        .cannotOpen,
        message: "the folder \(folder.path) does not exist and cannot be made: \(error.localizedDescription)",
        path: url.path)
    }
    // A link may exist while its target does not.
    let file = url.whereLinksLead.path
    // SQLite would overwrite a file of a single byte.
    let size = (try? FileManager.default.attributesOfItem(atPath: file))?[.size] as? Int
    if size == 1 { throw DatabaseError(.notADatabase, message: "it is a single byte long", path: url.path) }
    guard size == nil else { return }
    // SQLite gives the files beside it the same permissions. If the file cannot be made, opening it
    // reports why.
    let mode: mode_t = access == .owner ? 0o600 : 0o660
    let descriptor = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode)
    guard descriptor >= 0 else { return }
    // The mask of the process may have removed the group.
    fchmod(descriptor, mode)
    close(descriptor)
  }

  /// Opening a pipe would wait until another program writes.
  private static func requireFile(at url: URL) throws {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)
    guard let type = attributes?[.type] as? FileAttributeType else {
      throw DatabaseError(.notAQueue, message: "there is no such file", path: url.path)
    }
    if type != .typeRegular { throw DatabaseError(.notAQueue, message: "it is no ordinary file", path: url.path) }
  }
}
