#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-5: a disk of four megabytes, in a name space of its own.
@Suite(.enabled(if: SmallDisk.canMount, "this user may not mount anything"), .timeLimit(.minutes(30)))
struct FullDiskTests {
  @Test func diskIsFull_changesFail_andSayWhatIsFree_andSucceedWhenThereIsRoom() async throws {
    try await withDatabaseFile { file in
      let child = try DurableChild(
        file, arguments: ["durability=normal"], wrapper: SmallDisk.wrapper(file.deletingLastPathComponent()))
      let rest = file.path + "-rest"
      await child.tell("schedule 3600000", until: "did schedule")
      child.tell("enqueue 60 run")
      await child.wait(forCount: 60, of: "enqueued")
      let stored = try #require(await count("waiting", in: child))
      await child.tell("stuff \(rest)", until: "did stuff")
      let changes = ["unschedule", "hold 3", "cancel 2", "delete 10", "enqueue 1 run", "pause"]
      for change in changes { child.tell(change) }
      await child.wait(forCount: changes.count, of: "error")
      for line in child.lines.events where line.hasPrefix("error") {
        #expect(line.hasPrefix("error diskFull ") && line.contains("0 KiB are free on its disk"), "\(line)")
      }
      #expect(await count("waiting", in: child) == stored)
      await child.tell("remove \(rest)", until: "did remove")
      for change in ["unschedule", "hold 3", "cancel 2", "delete 10"] {
        await child.tell(change, until: "did \(change.split(separator: " ")[0])")
      }
      #expect(await count("waiting", in: child) == stored - 3)
      await child.exit()
    }
  }

  @Test func diskIsFull_endsWait_andAreWrittenWhenThereIsRoom() async throws {
    try await withDatabaseFile { file in
      let (child, rest) = try await jobs(onADiskThatIsFull: file)
      child.tell("release")
      await child.wait(for: "failed diskFull", 2)
      #expect(await count("executing", in: child) == 40)
      #expect(child.numbers(after: "done").isEmpty)
      await child.tell("remove \(rest)", until: "did remove")
      await child.wait(forCount: 40, of: "done")
      #expect(await count("done", in: child) == 40)
      #expect(child.lines.events.count { $0 == "logged databaseFailed" } == 1)
      await child.exit()
    }
  }

  @Test func diskIsFull_andTheQueueStops_theLogTellsOnce_andWhatRunsAgain() async throws {
    try await withDatabaseFile { file in
      let (child, rest) = try await jobs(onADiskThatIsFull: file)
      child.tell("stop 1000000000")
      child.tell("release")
      await child.wait(for: "stopped")
      #expect(child.lines.events.count { $0.hasPrefix("failed diskFull") } > 1)
      #expect(child.lines.events.count { $0.hasPrefix("logged databaseFailed") } == 1)
      let unwritten = try #require(child.lines.events.first { $0.hasPrefix("logged unwritten ") })
      let executing = await count("executing", in: child)
      #expect(executing == Int64(unwritten.split(separator: " ").count - 2))
      // The ends are still there for the next start.
      await child.tell("remove \(rest)", until: "did remove")
      child.tell("start")
      await child.wait(forCount: 40, of: "done")
      await child.exit()
    }
  }

  private func count(_ state: String, in child: DurableChild) async -> Int64? {
    let before = child.numbers(after: "counted").count
    child.tell("count \(state)")
    await child.wait(forCount: before + 1, of: "counted")
    return child.numbers(after: "counted").last
  }

  /// Jobs that run, on a disk without room.
  private func jobs(onADiskThatIsFull file: URL) async throws -> (child: DurableChild, rest: String) {
    let child = try DurableChild(
      file, arguments: ["durability=normal", "concurrent=40"],
      wrapper: SmallDisk.wrapper(file.deletingLastPathComponent()))
    await child.tell("start", until: "started")
    // Each has a page of its own.
    child.tell("enqueue 40 hold 3000")
    await child.wait(forCount: 40, of: "holds")
    await child.tell("stuff \(file.path)-rest", until: "did stuff")
    return (child, "\(file.path)-rest")
  }

  /// A file of an older version, whose tables are brought up to date.
  @Test func diskIsFull_fileIsOpened_failsAndSaysSo() async throws {
    try await withDatabaseFile { old in
      do {
        let store = try SQLiteStore(
          path: old.path, configuration: DurableQueue.Configuration(), events: EventHub(log: nil), mustExist: false,
          migrations: [Schema.migrations[0]])
        try store.connection.execute("PRAGMA journal_mode = DELETE")
      }
      try await withDatabaseFile { file in
        let folder = file.deletingLastPathComponent().path
        let child = try DurableChild(
          file, arguments: [],
          wrapper: SmallDisk.wrapper(
            URL(filePath: folder), after: "cp \(old.path)* \(folder); cat /dev/zero > \(folder)/filler; :"))
        await child.wait(forCount: 1, of: "error")
        #expect(child.lines.events[0].hasPrefix("error diskFull "))
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
