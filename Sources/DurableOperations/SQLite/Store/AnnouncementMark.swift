import Foundation

/// A file that tells that programs are announcing the log of a database: see ``LogAnnouncement``.
///
/// Each of them holds a lock on it that others can hold, too, and the last one removes it. One that is killed loses its lock, and
/// leaves the file. So the file is there as long as an announcement may be left that was not taken back.
struct AnnouncementMark: ~Copyable {
  private let path: String
  /// Less than 0 if there can be no such file. Whatever else stands there is left alone.
  private let descriptor: Int32

  init(at path: String) {
    self.path = path
    var descriptor = Self.open(path)
    // The one that had it may just be removing it. Not for ever: somebody else might keep it.
    for _ in 0..<10_000 where descriptor >= 0 && !Self.lock(descriptor, at: path) {
      close(descriptor)
      descriptor = Self.open(path)
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
    Foundation.open(path, O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
  }

  /// Returns whether the file will be there as long as this program has it.
  private static func lock(_ descriptor: Int32, at path: String) -> Bool {
    let isRemoving = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    return !isRemoving && isFile(descriptor, at: path)
  }

  /// Whether the file that was opened is still the one at the path.
  private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    var (opened, found) = (stat(), stat())
    return fstat(descriptor, &opened) == 0 && lstat(path, &found) == 0 && opened.st_ino == found.st_ino
      && opened.st_dev == found.st_dev
  }
}
