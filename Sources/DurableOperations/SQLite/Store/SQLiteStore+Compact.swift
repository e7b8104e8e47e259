import Foundation

extension SQLiteStore {
  /// Rewrites the file without its free space, and truncates the log. Not inside a transaction.
  /// Returns by how many bytes it shrank.
  func compact(busyTimeout: Duration) throws -> Int {
    guard connection.path != ":memory:" else { return 0 }
    try connection.requireWriting()
    let before = fileSize
    // Not the queue's connection: this one needs room for the whole file, and its temporary tables
    // are on the disk.
    let own = try Connection(
      path: connection.path, busyTimeout: busyTimeout, mustExist: true, suspension: suspension)
    own.endsWhenSuspended(suspension)
    #if canImport(Darwin)
    try own.execute("PRAGMA fullfsync = ON")
    #endif
    // As long as a reader uses the old content, nothing would shrink, and the log would become as
    // large as the file.
    try own.cutLog(remark: "it was not compacted")
    // Another program may have repaired jobs.
    try transaction { try recount() }
    do {
      try own.execute("VACUUM")
    } catch {
      // It may have written to the log until the disk was full.
      truncateLog()
      throw error
    }
    try own.cutLog(remark: "the file becomes smaller when that has ended")
    isWithoutLog = true
    return max(0, before - fileSize)
  }

  /// How many bytes the file and its log take.
  var fileSize: Int { size(ofFileEndingIn: "") + logSize }

  var logSize: Int { size(ofFileEndingIn: "-wal") }

  private func size(ofFileEndingIn end: String) -> Int {
    let path = URL(fileURLWithPath: connection.path).resolvingSymlinksInPath().path
    return (try? FileManager.default.attributesOfItem(atPath: path + end))?[.size] as? Int ?? 0
  }
}

extension Connection {
  /// Waits until no reader uses the old content, for the busy timeout at most.
  fileprivate func cutLog(remark: String) throws {
    let result = try execute("PRAGMA wal_checkpoint(TRUNCATE)")
    guard result.first?[0].integerValue == 0 else {
      throw DatabaseError(.busy, message: "it is in the midst of a transaction; \(remark)", path: path)
    }
  }
}
