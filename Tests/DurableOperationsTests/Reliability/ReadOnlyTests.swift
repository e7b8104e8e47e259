import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A queue that only looks at a file.
@Suite(.timeLimit(.minutes(30))) struct ReadOnlyTests {
  /// A file with one job, that no program has open.
  private func makeQuiet(_ file: URL) async throws -> JobID {
    let id: JobID
    do {
      let queue = try DurableQueue.patient(file)
      id = try await queue.enqueue(Count(number: 1))
    }
    await until(!FileManager.default.fileExists(atPath: file.path + "-wal"))
    return id
  }

  private func names(beside file: URL) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path))
  }

  @Test func whatChangesSomething_isRefused() async throws {
    try await withDatabaseFile { file in
      let id = try await makeQuiet(file)
      let before = try Data(contentsOf: file)
      let queue = try DurableQueue(location: .readOnlyFile(file))
      #expect(try await queue.job(id)?.state == .waiting)
      let changes: [() throws -> Void] = [
        { _ = try queue.enqueue(Count(number: 2)) }, { try queue.hold(id) }, { try queue.delete(id) },
        { _ = try queue.deleteUnstarted() }, { try queue.pause(kind: "count") },
        { _ = try queue.unschedule(named: "x") }, { try queue.register(Send.self) { _, _ in BlockOperation {} } },
        { try queue.transaction { _ in } },
        { try queue.schedule(Count(number: 1), named: "x", .interval(.seconds(1))) },
      ]
      for (number, change) in changes.enumerated() {
        #expect(databaseErrorCode(change) == .readOnly, "\(number)")
      }
      await #expect { try await queue.enqueue(Count(number: 2)) } throws: {
        ($0 as? DatabaseError)?.code == .readOnly && "\($0)".contains("opened for reading only")
      }
      #expect(try Data(contentsOf: file) == before)
      #expect(try names(beside: file) == [file.lastPathComponent])
    }
  }

  @Test func start_runsNothing_andSaysWhy() async throws {
    try await withDatabaseFile { file in
      let id = try await makeQuiet(file)
      let queue = try DurableQueue(location: .readOnlyFile(file))
      let events = queue.events()
      queue.start()
      for await event in events {
        #expect(event.kind == .databaseFailed && (event.error as? DatabaseError)?.code == .readOnly)
        break
      }
      await queue.stop()
      #expect(try await queue.job(id)?.state == .waiting)
    }
  }

  @Test func whatOthersDo_isSeen_alsoIfTheyBeginLater() async throws {
    try await withDatabaseFile { file in
      let id = try await makeQuiet(file)
      let watcher = try DurableQueue(location: .readOnlyFile(file))
      #expect(try await watcher.job(id)?.state == .waiting)
      do {
        let queue = try DurableQueue.patient(file)
        try await queue.hold(id)
        #expect(try await watcher.job(id)?.state == .held)
        try await queue.retry(id)
        try await queue.register(Count.self) { _, _ in BlockOperation {} }
        queue.start()
        #expect(try await watcher.waitUntilSettled(id)?.state == .done)
        await queue.stop()
      }
      // They may be gone again.
      #expect(try await watcher.counts()[.done] == 1)
      let again = try DurableQueue.patient(file)
      try await again.delete(id)
      #expect(try await watcher.job(id) == nil)
    }
  }

  @Test func whatAProgramDid_thatCameAndWentInBetween_isSeen() async throws {
    try await withDatabaseFile { file in
      let id = try await makeQuiet(file)
      let watcher = try DurableQueue(location: .readOnlyFile(file))
      for state in [JobState.held, .waiting, .held] {
        do {
          let store = try SQLiteStore(
            path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: true)
          try store.connection.execute("UPDATE durable_jobs SET state = \(state.rawValue)")
        }
        #expect(try await watcher.job(id)?.state == state)
      }
    }
  }

  /// As `VACUUM INTO` makes a copy.
  @Test func copyWithoutALog_isRead_andBlocksNoWriter() async throws {
    try await withDatabaseFile { file in
      let id = try await makeQuiet(file)
      let copy = file.deletingLastPathComponent().appendingPathComponent("copy.sqlite")
      do {
        let connection = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
        try connection.execute("VACUUM INTO ?", [.text(copy.path)])
      }
      let before = try names(beside: file)
      let watcher = try DurableQueue(location: .readOnlyFile(copy))
      #expect(try await watcher.job(id)?.state == .waiting)
      #expect(try names(beside: file) == before)
      let queue = try DurableQueue(location: .existingFile(copy))
      try await queue.hold(id)
      #expect(try await watcher.job(id)?.state == .held)
    }
  }

  @Test func olderTables_areReadAsTheyAre() async throws {
    try await withDatabaseFile { file in
      for version in 1...Schema.migrations.count {
        let id: JobID
        do {
          let store = try SQLiteStore(
            path: file.path, configuration: .standingStill(at: 7), events: EventHub(), mustExist: false,
            migrations: Array(Schema.migrations.prefix(version)))
          // The counts are a table of the second version.
          id = try store.connection.transaction { try store.enqueue([StoreHarness.job()])[0] }
          store.deltas = CountDeltas()
          if version > 1 { try store.transaction { try store.recount() } }
          try store.transaction {
            try store.schedule(StoreHarness.job(), named: "often", .interval(.seconds(1)), .latest)
          }
        }
        let before = try Data(contentsOf: file)
        let queue = try DurableQueue(location: .readOnlyFile(file))
        #expect(try queue.job(id)?.enqueuedAt == Date(milliseconds: 7))
        #expect(try queue.jobs(kind: "a", in: [.waiting]).count == 1)
        #expect(try queue.counts().total == 1)
        #expect(try queue.periodicJobs().map(\.name) == ["often"])
        #expect(try queue.export { _ in } == 1)
        #expect(try Data(contentsOf: file) == before)
        #expect(try names(beside: file) == [file.lastPathComponent])
        try FileManager.default.removeItem(at: file)
      }
    }
  }

  @Test func newerTables_fileThatIsNotThere_andWhatIsNoFile_areRefused() async throws {
    try await withDatabaseFile { file in
      func code() -> DatabaseError.Code? { databaseErrorCode { _ = try DurableQueue(location: .readOnlyFile(file)) } }
      #expect(code() == .notAQueue)
      #expect(try names(beside: file) == [])
      _ = try SQLiteStore(
        path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: false,
        migrations: Schema.migrations + ["CREATE TABLE durable_more (number INTEGER)"])
      #expect(code() == .newerSchema)
      try FileManager.default.removeItem(at: file)
      #expect(mkfifo(file.path, 0o600) == 0)
      #expect(code() == .notAQueue)
      #expect(databaseErrorCode { _ = try DurableQueue(location: .existingFile(file)) } == .notAQueue)
    }
  }
}
