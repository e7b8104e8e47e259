import Foundation

/// Distinguishes a file that has lost its log from one that never had one.
///
/// Before the first write that is only in the log, the file itself announces the log, and the log
/// takes the announcement back. So a file that still announces a log, and has none beside it, has
/// lost it. A file that any program closed in good order contains what the log says.
///
/// A program that is killed between the two leaves a log that says no more than the file, and any
/// program that closes the database then deletes it: nothing is lost. A file `-announcing` beside
/// the others shows that an announcement is under way, or was when its program was killed: see
/// ``AnnouncementMark``.
struct LogAnnouncement {
  /// SQLite keeps the log beside the file itself.
  private let path: String
  private let mark: String

  init(of path: String) {
    self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    mark = self.path + "-announcing"
  }

  /// Makes the file announce its log.
  func make(in connection: Connection) throws {
    let mark = AnnouncementMark(at: mark)
    do {
      try note("announced", in: connection)
    } catch {
      mark.remove()
      throw error
    }
    connection.withTimeout(.zero) { _ = try? $0.execute("PRAGMA wal_checkpoint(PASSIVE)") }
    try note("used", in: connection)
    mark.remove()
  }

  private func note(_ value: String, in connection: Connection) throws {
    try connection.transaction {
      _ = try connection.execute("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('log', ?)", [.text(value)])
    }
  }

  /// Whether the database announces a log, and has not taken that back.
  func isMade(in connection: Connection) throws -> Bool {
    let rows = try connection.execute("SELECT value FROM durable_meta WHERE key = 'log'")
    return rows.first?[0].textValue == "announced"
  }

  /// Whether there is no log though the file announces one.
  func isBroken(in connection: Connection) throws -> Bool {
    guard try isMade(in: connection), !hasLog, !AnnouncementMark.exists(at: mark) else { return false }
    // Since this process read it, another one may have taken it back, and written its log back into
    // the file.
    return try isMade(in: connection)
  }

  var hasLog: Bool {
    let size = (try? FileManager.default.attributesOfItem(atPath: path + "-wal"))?[.size] as? Int
    return size ?? 0 > 0
  }
}
