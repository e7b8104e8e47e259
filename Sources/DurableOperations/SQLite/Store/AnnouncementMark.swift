import Foundation

/// A file that shows that programs are announcing the log of a database: see ``LogAnnouncement``.
///
/// Each of them holds a shared lock on it, and the last one removes it. A program that is killed
/// loses its lock, and leaves the file. So the file exists as long as an announcement may be left
/// that was not taken back.
///
/// Each of them signs it, to tell whether the file that it has locked is still the one at the path:
/// to compare files by their numbers, an app would have to give Apple a reason.
struct AnnouncementMark: ~Copyable {
  private let path: String
  /// Less than 0 if there can be no such file. Another file at the path is left alone.
  private let descriptor: Int32

  init(at path: String) {
    self.path = path
    var descriptor = Self.open(path)
    // The last program may be removing it right now. Not for ever: another program might keep it,
    // or the disk be full.
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

  /// Removes the file unless others are announcing: this program has taken its announcement back,
  /// or made none.
  consuming func remove() {
    // Where files cannot be locked, the first program removes it.
    if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { unlink(path) }
  }

  static func exists(at path: String) -> Bool { access(path, F_OK) == 0 }

  private static func open(_ path: String) -> Int32 {
    Foundation.open(path, O_CREAT | O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
  }

  /// Returns whether the file stays as long as this program has it.
  private static func lock(_ descriptor: Int32, at path: String) -> Bool {
    let isRemoving = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    return !isRemoving && isSigned(descriptor, at: path)
  }

  /// Signs the opened file. Returns whether it is the one at the path.
  private static func isSigned(_ descriptor: Int32, at path: String) -> Bool {
    let signature = Array(UUID().uuidString.utf8)
    var found = [UInt8](repeating: 0, count: signature.count)
    guard write(descriptor, signature, signature.count) == signature.count else { return false }
    let other = Foundation.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard other >= 0 else { return false }
    defer { close(other) }
    // Other programs may have signed since.
    let place = lseek(descriptor, 0, SEEK_CUR) - off_t(signature.count)
    return pread(other, &found, found.count, place) == found.count && found == signature
  }
}
