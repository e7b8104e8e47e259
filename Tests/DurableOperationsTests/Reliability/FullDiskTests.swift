#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-5: a disk of four megabytes, in a name space of its own.
@Suite(.enabled(if: SmallDisk.canMount, "this user may not mount anything"), .timeLimit(.minutes(30)))
struct FullDiskTests {
  @Test func diskIsFull_jobsAreDeletedCancelledAndHeld_andThereIsRoomForOthers() async throws {
    try await withDatabaseFile { file in
      let child = try DurableChild(
        file, arguments: ["durability=normal"], wrapper: SmallDisk.wrapper(file.deletingLastPathComponent()))
      await child.tell("schedule 3600000", until: "did schedule")
      await child.tell("fill", until: "filled diskFull")
      await child.tell("unschedule", until: "did unschedule")
      await child.tell("hold 3", until: "did hold")
      await child.tell("cancel 2", until: "did cancel")
      for id in 10..<60 { child.tell("delete \(id)") }
      await child.wait(for: "did delete", 50)
      #expect(!child.lines.events.contains { $0.hasPrefix("error") })
      // What was deleted has left room.
      child.tell("enqueue 10 run")
      await child.wait(forCount: 10, of: "enqueued")
      await child.exit()
    }
  }

  /// Runs jobs, fills the disk, lets the jobs end, and stops the queue.
  private func endsOnAFullDisk(_ file: URL, _ arguments: String...) async throws -> DurableChild {
    let child = try DurableChild(
      file, arguments: ["durability=normal", "concurrent=40"] + arguments,
      wrapper: SmallDisk.wrapper(file.deletingLastPathComponent()))
    await child.tell("start", until: "started")
    // Each has a page of its own: together they need more than what was too little for one job.
    child.tell("enqueue 40 hold 3000")
    await child.wait(forCount: 40, of: "holds")
    await child.tell("fill", until: "filled diskFull")
    child.tell("stop 1000000000")
    child.tell("release")
    await child.wait(for: "stopped")
    child.tell("count executing")
    await child.wait(forCount: 1, of: "counted")
    return child
  }

  @Test func diskIsFull_whatEndsIsWritten_byTheRoomOfTheReserve() async throws {
    try await withDatabaseFile { file in
      let child = try await endsOnAFullDisk(file)
      #expect(child.numbers(after: "counted") == [0])
      #expect(!child.lines.events.contains { $0.hasPrefix("logged unwritten") })
      await child.exit()
    }
  }

  @Test func diskIsFull_andThereIsNoReserve_theLogTellsOnce_andWhatRunsAgain() async throws {
    try await withDatabaseFile { file in
      let child = try await endsOnAFullDisk(file, "reserve=0")
      #expect(child.lines.events.count { $0.hasPrefix("failed diskFull") } > 1)
      #expect(child.lines.events.count { $0.hasPrefix("logged databaseFailed") } == 1)
      let unwritten = try #require(child.lines.events.first { $0.hasPrefix("logged unwritten ") })
      #expect(child.numbers(after: "counted") == [Int64(unwritten.split(separator: " ").count - 2)])
      await child.exit()
    }
  }

  /// A file of an older version, whose tables are brought up to date.
  @Test(arguments: [true, false]) func diskIsFull_fileIsOpened_byTheRoomOfTheReserve(hasReserve: Bool) async throws {
    try await withDatabaseFile { old in
      do {
        let store = try SQLiteStore(
          path: old.path, configuration: DurableQueue.Configuration(), events: EventHub(log: nil), mustExist: false,
          migrations: [Schema.migrations[0]])
        try store.connection.execute("PRAGMA journal_mode = DELETE")
      }
      if hasReserve { try Data(repeating: 1, count: 1 << 20).write(to: URL(filePath: old.path + "-reserve")) }
      try await withDatabaseFile { file in
        let folder = file.deletingLastPathComponent().path
        let child = try DurableChild(
          file, arguments: [],
          wrapper: SmallDisk.wrapper(
            URL(filePath: folder), after: "cp \(old.path)* \(folder); cat /dev/zero > \(folder)/filler; :"))
        guard hasReserve else {
          await child.wait(forCount: 1, of: "error")
          #expect(child.lines.events[0].hasPrefix("error diskFull "))
          return
        }
        await child.wait(for: "open")
        await child.tell("start", until: "started")
        await child.exit()
      }
    }
  }
}

/// SQLite says of some writes for which there is no room that they failed.
@Suite struct FullDiskErrorTests {
  @Test(arguments: [
    (Int32(13), Int32(0), DatabaseError.Code.diskFull),
    (778, EDQUOT, .diskFull), (1034, ENOSPC, .diskFull), (778, EIO, .inputOutput),
    (4874, 0, .diskFull), (4874, ENOSPC, .diskFull),
    (14, ENOSPC, .diskFull), (14, EDQUOT, .diskFull), (14, ENOENT, .cannotOpen),
  ]) func resultOfAWrite_forWhichThereIsNoRoom_isAFullDisk(code: Int32, system: Int32, right: DatabaseError.Code) {
    let error = DatabaseError(
      resultCode: code, message: "disk I/O error", systemCode: system, sql: nil, path: "jobs.sqlite")
    #expect(error.code == right)
  }
}

private enum SmallDisk {
  /// Mounts a small disk at the first argument, runs the second there, and becomes the program that
  /// the others say.
  private static let script = """
    exec unshare --map-root-user --mount sh -c \
      'mount -t tmpfs -o size=4m none "$1" && eval "$2" && shift 2 && exec "$@"' sh "$@"
    """

  /// - Parameter preparation: what a shell does before the program begins.
  static func wrapper(_ folder: URL, after preparation: String = ":") -> [String] {
    ["/bin/sh", "-c", script, "sh", folder.path, preparation]
  }

  static let canMount: Bool = {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", script, "sh", FileManager.default.temporaryDirectory.path, ":", "/bin/true"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
#endif
