import CompositeOperations
import Foundation

/// Looks for problems of the file of a queue. Only reads.
struct SQLiteDoctor {
  private let session: SQLiteSession
  private var connection: Connection { session.store.connection }

  static func diagnose(_ location: DurableQueue.Location) throws -> [Diagnosis] {
    let (_, reader) = try SQLiteAccess.open(location, DurableQueue.Configuration(), EventHub())
    return try reader.sync { session in
      guard let session = session as? SQLiteSession else { return [] }
      let doctor = SQLiteDoctor(session: session)
      return try [doctor.tables(), doctor.pages(), doctor.lostLog(), doctor.log(), doctor.room()].compactMap(\.self)
    }
  }

  private func number(_ pragma: String) throws -> Int {
    Int(try connection.execute("PRAGMA \(pragma)").first?[0].integerValue ?? 0)
  }

  private func tables() -> Diagnosis {
    let (version, newest) = (session.store.version, Schema.migrations.count)
    let rest = version < newest ? "; a program that opens it to change it brings it up to version \(newest)" : ""
    return .fine("tables", "The tables are of version \(version)\(rest).")
  }

  private func pages() throws -> Diagnosis {
    let problems = try connection.execute("PRAGMA integrity_check(20)").map { $0[0].textValue ?? "" }.filter {
      $0 != "ok"
    }
    guard let first = problems.first else { return .fine("pages", "All pages and indexes of the file are sound.") }
    return .attention(
      "pages",
      "SQLite finds faults in the file, \(problems.count == 20 ? "20 or more" : "\(problems.count)") of them: \(first).",
      why: "Jobs may be lost, or run wrongly, and more of them the longer it is used.",
      remedy: "Stop all programs that use it, keep a copy, and recover it with `sqlite3 FILE .recover`. Check the disk."
    )
  }

  private func lostLog() throws -> Diagnosis? {
    guard try session.facts().loss != nil else { return nil }
    return .attention(
      "log", "The file says that there is a write-ahead log, and there is none.",
      why: "What was stored since the file was opened last is lost.",
      remedy:
        "Move or copy the file together with the one with -wal at its end. If that is still somewhere, put it back.")
  }

  /// A longer log shows that a reader keeps it from being written back.
  private static let longLog = 64 << 20

  private func log() throws -> Diagnosis? {
    let mode = try connection.execute("PRAGMA journal_mode").first?[0].textValue ?? "unknown"
    guard connection.isQuiet || mode == "wal" else {
      return .attention(
        "log", "The journal mode of the file is \(mode), not wal.",
        why: "Another program has changed it. Programs that read keep those waiting that write.",
        remedy: "Start a program that runs the queue: it sets the mode. Keep other programs from changing it.")
    }
    let size = session.store.logSize
    guard size > Self.longLog else { return .fine("log", "The write-ahead log takes \(size) bytes.") }
    return .attention(
      "log", "The write-ahead log takes \(size >> 20) MiB.",
      why: "A program that reads what was there before keeps it from being written back; it goes on growing.",
      remedy: "Look for a program that keeps a transaction open, such as a shell of SQLite.")
  }

  private func room() throws -> Diagnosis {
    let (pages, free, size) = (try number("page_count"), try number("freelist_count"), try number("page_size"))
    let rest = free * 2 > pages ? " `durable-queue compact` gives them back." : ""
    return .fine("room", "\(free * size) of \(pages * size) bytes of the file are free for further jobs.\(rest)")
  }
}
