import Foundation

/// A file that tells that programs are announcing the log of a database: see ``LogAnnouncement``.
///
/// Each of them holds a lock on it that others can hold, too, and the last one removes it. One that is killed loses its lock, and
/// leaves the file. So the file is there as long as an announcement may be left that was not taken back.
///
/// Each of them signs it, so that it can tell whether what it has locked is still what stands there: to compare files by their
/// numbers an app would have to give Apple a reason.
struct AnnouncementMark: ~Copyable {
  private let path: String
  /// Less than 0 if there can be no such file. Whatever else stands there is left alone.
  private let descriptor: Int32

  init(at path: String) {
    self.path = path
    var descriptor = Self.open(path)
    // The one that had it may just be removing it. Not for ever: another program might keep it, or the disk be full.
    var attempts = 1
    while descriptor >= 0, !Self.lock(descriptor, at: path), attempts < 1_000 {
      close(descriptor)
      descriptor = Self.open(path)
      attempts += 1
    }
    self.descriptor = descriptor
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// This program has taken its announcement back, or made none. Removes the file unless others are announcing.
  consuming func remove() {
    // Where files cannot be locked, the first one removes it.
    if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { unlink(path) }
  }

  static func exists(at path: String) -> Bool { access(path, F_OK) == 0 }

  private static func open(_ path: String) -> Int32 {
    Foundation.open(path, O_CREAT | O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
  }

  /// Returns whether the file will be there as long as this program has it.
  private static func lock(_ descriptor: Int32, at path: String) -> Bool {
    let isRemoving = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    return !isRemoving && isSigned(descriptor, at: path)
  }

  /// Signs the file that was opened. Returns whether it is the one at the path.
  private static func isSigned(_ descriptor: Int32, at path: String) -> Bool {
    let signature = Array(UUID().uuidString.utf8)
    var found = [UInt8](repeating: 0, count: signature.count)
    guard write(descriptor, signature, signature.count) == signature.count else { return false }
    let other = Foundation.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard other >= 0 else { return false }
    defer { close(other) }
    // Others may have signed since.
    let place = lseek(descriptor, 0, SEEK_CUR) - off_t(signature.count)
    return pread(other, &found, found.count, place) == found.count && found == signature
  }
}
