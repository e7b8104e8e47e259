#if os(Linux)
import Foundation

extension posix_spawn_file_actions_t {
  /// Closes in the process to be spawned what this one has open, from a file on.
  ///
  /// A process that has the pipe of another test keeps that test waiting for its end. Foundation's
  /// own pipes are inherited.
  mutating func closeInherited(from first: Int32) {
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for file in open.compactMap(Int32.init) where file >= first { posix_spawn_file_actions_addclose(&self, file) }
  }
}
#endif
