import Foundation

/// A file beside the database that is deleted when the disk is full, to make room for deleting
/// jobs, and for the ends of those that run: that writes, too.
struct DiskReserve: Sendable {
  let path: String
  let size: Int
  /// Whether it is made with the database. Tools use it, and make it again then, but do nothing
  /// else.
  let isKept: Bool
  private let database: String

  /// Nil where nothing is written to a file, and for an empty reserve.
  init?(at location: DurableQueue.Location, size: Int) {
    switch location {
    case .file(let file), .existingFile(let file): database = file.path
    default: return nil
    }
    guard size > 0 else { return nil }
    // Beside the file itself, as SQLite keeps the log: a link to it may be on another disk.
    path = "\(URL(fileURLWithPath: database).resolvingSymlinksInPath().path)-reserve"
    if case .file = location { isKept = true } else { isKept = false }
    self.size = size
  }

  /// Makes it, if it is missing or incomplete and there is room. Returns whether it did.
  func make() -> Bool {
    // A deleted database needs none.
    let target = URL(fileURLWithPath: database).resolvingSymlinksInPath().path
    guard let ofDatabase = attributes(of: target) else { return false }
    if let there = attributes(of: path) {
      // Another program may have truncated it.
      if there[.type] as? FileAttributeType == .typeRegular, there[.size] as? Int ?? 0 >= size { return false }
      guard unlink(path) == 0 else { return false }
    }
    let file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    // For the users who may write the database. The superuser makes it for the database's owner, as
    // SQLite does with the log.
    if let mode = ofDatabase[.posixPermissions] as? Int { fchmod(file, mode_t(mode & 0o777)) }
    if geteuid() == 0, let user = ofDatabase[.ownerAccountID] as? Int,
      let group = ofDatabase[.groupOwnerAccountID] as? Int
    {
      _ = fchown(file, uid_t(user), gid_t(group))
    }
    // Not zeros, which some file systems store in no space.
    let bytes = [UInt8](repeating: 0xA5, count: 1 << 16)
    var written = 0
    while written < size {
      let count = write(file, bytes, min(bytes.count, size - written))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      written += count
    }
    if written == size, fsync(file) == 0 { return true }
    // An incomplete reserve takes the last room.
    unlink(path)
    return false
  }

  private func attributes(of path: String) -> [FileAttributeKey: Any]? {
    try? FileManager.default.attributesOfItem(atPath: path)
  }

  /// Frees its room. Returns whether there was some.
  func giveUp() -> Bool { unlink(path) == 0 }

  /// Deletes it if its database is gone: it would stay for ever.
  func goWithDatabase() {
    if !FileManager.default.fileExists(atPath: database) { unlink(path) }
  }
}
