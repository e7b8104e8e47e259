import Foundation

/// What tells a file that has lost its log from one that never had one.
///
/// Before the first thing is stored that is in the log alone, the file itself says so, and the log takes it
/// back. So a file that still says it, and has no log beside it, has lost it. A file that was closed in good
/// order, by whatever program, has been given what the log says.
///
/// A program that is killed between the two leaves a log that says no more than the file, and any program
/// that closes the database then deletes it: nothing is lost. A file `-announcing` beside the others tells
/// that an announcement is under way, or was when its program was killed: see ``AnnouncementMark``.
struct LogAnnouncement {
  /// SQLite keeps the log beside the file itself.
  private let path: String
  private let mark: String

  init(of path: String) {
    self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    mark = self.path + "-announcing"
  }

  /// Has the file say that there will be a log.
  func make(in connection: Connection) throws {
    let mark = AnnouncementMark(at: mark)
    do {
      try note("announced", in: connection)
    } catch {
      mark.remove()
      throw error
    }
    connection.withoutWaiting { _ = try? $0.execute("PRAGMA wal_checkpoint(PASSIVE)") }
    try note("used", in: connection)
    mark.remove()
  }

  private func note(_ value: String, in connection: Connection) throws {
    try connection.transaction {
      _ = try connection.execute("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('log', ?)", [.text(value)])
    }
  }

  /// Whether the database says that there will be a log, and has not taken it back.
  func isMade(in connection: Connection) throws -> Bool {
    let rows = try connection.execute("SELECT value FROM durable_meta WHERE key = 'log'")
    return rows.first?[0].textValue == "announced"
  }

  /// Whether there is no log though the file says so.
  func isBroken(in connection: Connection) throws -> Bool {
    guard try isMade(in: connection), !hasLog, !AnnouncementMark.exists(at: mark) else { return false }
    // Another process may have taken it back, and written its log back into the file, since this one has read it.
    return try isMade(in: connection)
  }

  var hasLog: Bool {
    let size = (try? FileManager.default.attributesOfItem(atPath: path + "-wal"))?[.size] as? Int
    return size ?? 0 > 0
  }
}
