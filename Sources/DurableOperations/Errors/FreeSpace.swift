#if os(Linux)
import Foundation

/// How much is free on a disk. Only on Linux: to ask, an app would have to give Apple a reason.
enum FreeSpace {
  /// The bytes that are free for this user on the disk of a file; nil if the system does not say.
  static func beside(_ path: String) -> UInt64? {
    var facts = statvfs()
    return statvfs(path, &facts) == 0 ? UInt64(facts.f_bavail) * UInt64(facts.f_frsize) : nil
  }
}
#endif
