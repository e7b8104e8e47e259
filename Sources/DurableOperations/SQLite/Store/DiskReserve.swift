import Foundation

/// A file beside the database that is deleted when the disk is full, so that there is room for deleting jobs: that has to be
/// written, too.
struct DiskReserve: Sendable {
  let path: String
  let size: Int
  /// Whether it is made with the database. For tools it is used, and made again then, but nothing else.
  let isKept: Bool
  private let database: String

  /// Nil where nothing is written to a file, and for a reserve of nothing.
  init?(at location: DurableQueue.Location, size: Int) {
    switch location {
    case .file(let file), .existingFile(let file): database = file.path
    default: return nil
    }
    guard size > 0 else { return nil }
    // Beside the file itself, as SQLite keeps the log: what leads there may stand on another disk.
    path = "\(URL(fileURLWithPath: database).resolvingSymlinksInPath().path)-reserve"
    if case .file = location { isKept = true } else { isKept = false }
    self.size = size
  }

  /// Makes it, if it is not there as it should be and there is room. Returns whether it did.
  func make() -> Bool {
    // A database that is gone needs none.
    let target = URL(fileURLWithPath: database).resolvingSymlinksInPath().path
    guard let ofDatabase = attributes(of: target) else { return false }
    if let there = attributes(of: path) {
      // Somebody may have cut it off.
      if there[.type] as? FileAttributeType == .typeRegular, there[.size] as? Int ?? 0 >= size { return false }
      guard unlink(path) == 0 else { return false }
    }
    let file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    // For those who may write the database. The superuser makes it for its owner, as SQLite does with the log.
    if let mode = ofDatabase[.posixPermissions] as? Int { fchmod(file, mode_t(mode & 0o777)) }
    if geteuid() == 0, let user = ofDatabase[.ownerAccountID] as? Int,
      let group = ofDatabase[.groupOwnerAccountID] as? Int
    {
      _ = fchown(file, uid_t(user), gid_t(group))
    }
    // Not zeros, which some file systems keep for nothing.
    let bytes = [UInt8](repeating: 0xA5, count: 1 << 16)
    var written = 0
    while written < size {
      let count = write(file, bytes, min(bytes.count, size - written))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      written += count
    }
    if written == size, fsync(file) == 0 { return true }
    // A reserve that is none takes the last room.
    unlink(path)
    return false
  }

  private func attributes(of path: String) -> [FileAttributeKey: Any]? {
    try? FileManager.default.attributesOfItem(atPath: path)
  }

  /// Gives its room back. Returns whether there was some.
  func giveUp() -> Bool { unlink(path) == 0 }

  /// Deletes it if its database is gone: it would stay for ever.
  func goWithDatabase() {
    if !FileManager.default.fileExists(atPath: database) { unlink(path) }
  }
}
