import Foundation

extension DurableQueue.Location {
  /// Makes the folder and the file, so that no other user can read the file from its first byte on.
  func prepareFile(at url: URL, access: DurableQueue.FileAccess) throws {
    try Self.requireSingleName(of: url)
    if case .readOnlyFile = self { return try Self.requireFile(at: url) }
    if case .existingFile = self { return try Self.requireFile(at: url) }
    let folder = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw DatabaseError(
        .cannotOpen,
        message:
          "its folder \(folder.path) cannot be made: \(error.localizedDescription). Make it, or choose another path",
        path: url.path)
    }
    try Self.requireShortName(of: url)
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

  /// SQLite keeps the log beside the name by which a file was opened: under another name, jobs that
  /// are in the log alone would be missing, and lost.
  private static func requireSingleName(of url: URL) throws {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.whereLinksLead.path)
    guard attributes?[.type] as? FileAttributeType == .typeRegular, let links = attributes?[.referenceCount] as? Int,
      links > 1
    else { return }
    throw DatabaseError(
      .cannotOpen,
      message:
        "it has \(links) hard links, and each name would have its own log. Remove the other names, or open a copy",
      path: url.path)
  }

  /// SQLite would make the file, and fail to make those beside it. The folder of the file exists.
  private static func requireShortName(of url: URL) throws {
    let file = url.whereLinksLead, length = file.lastPathComponent.utf8.count
    let longest = pathconf(file.deletingLastPathComponent().path, Int32(_PC_NAME_MAX)), rest = "-announcing".utf8.count
    guard longest > 0, length + rest > longest else { return }
    throw DatabaseError(
      .cannotOpen,
      message:
        "its name has \(length) bytes, the files beside it have up to \(rest) more, and the file system allows \(longest). Choose a "
        + "shorter name", path: url.path)
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
