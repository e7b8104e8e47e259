import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A disk, a file, or another program that fails the queue.
@Suite(.timeLimit(.minutes(30))) struct FaultTests {
  #if os(macOS) || os(Linux)
  @Test("A file that may not grow: a typed error, nothing is lost, and all goes on when there is room")
  func fullDisk_losesNothing() async throws {
    try await withDatabaseFile { file in
      let log = file.deletingLastPathComponent().appending(path: "attempts.log")
      let child = try DurableChild(file, "log=\(log.path)", "poll=10")
      await child.tell("start", until: "started")
      child.tell("enqueue 2 hold")
      await child.wait(forCount: 2, of: "holds")
      let room = try FileManager.default.attributesOfItem(atPath: file.path + "-wal")[.size] as? Int ?? 0
      await child.tell("limit \(room + 20_000)", until: "did limit")
      // Until it is full.
      var asked = 0
      while child.numbers(after: "failed").isEmpty, !child.lines.events.contains(where: { $0.hasPrefix("error") }) {
        child.tell("enqueue 20 run")
        asked += 1
        await child.lines.wait { [asked] lines in
          lines.count { $0.hasPrefix("error") } > 0 || lines.count { $0.hasPrefix("enqueued") } >= 2 + 20 * asked
        }
      }
      let error = try #require(child.lines.events.first { $0.hasPrefix("error") || $0.hasPrefix("failed") })
      #expect(["diskFull", "inputOutput"].contains(String(error.split(separator: " ")[1])), "\(error)")
      child.tell("release")
      await child.lines.wait { $0.contains { $0.hasPrefix("failed") } }
      await child.tell("limit none", until: "did limit")
      await child.wait(for: "done 1")
      await child.wait(for: "done 2")
      child.tell("enqueue 1 run")
      await child.tell("settle", until: "settled")
      let stored = Set(child.numbers(after: "enqueued"))
      await child.exit()
      let inspection = try Inspection(file)
      #expect(try inspection.integrity() == "ok")
      #expect(try inspection.ids(in: .done) == stored)
      let notes = AttemptNotes(log)
      #expect(notes.notes.count { $0.what == "S" } == stored.count, "nothing ran again")
    }
  }

  @Test("A file, or a folder, that may not be written to", arguments: ["file", "folder"])
  func readOnly_isATypedError(what: String) async throws {
    try await withDatabaseFile { file in
      let folder = file.deletingLastPathComponent()
      if what == "file" {
        // Closed for good: closing writes the log into the file.
        try await makeDatabase(file, jobs: 1)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file.path)
      } else {
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
      }
      let before = try? Data(contentsOf: file)
      // The superuser may write everywhere.
      let child = getuid() == 0 ? try DurableChild(file, "user=65534") : try DurableChild(file)
      #expect(await child.end() == -1)
      let line = try #require(child.lines.events.first)
      #expect(line.hasPrefix(what == "file" ? "error readOnly" : "error cannotOpen"), "\(line)")
      #expect(line.contains(file.path))
      #expect((try? Data(contentsOf: file)) == before)
    }
  }
  #endif

  @Test("No database, a damaged header: typed errors, and the file stays as it is")
  func noDatabase_isLeftAsItIs() async throws {
    try await withDatabaseFile { file in
      let long = Data("This is a letter, not a database. ".utf8 + (0..<5000).map { UInt8($0 % 251) })
      for contents in [long, Data("not one".utf8), Data("\n".utf8)] {
        try contents.write(to: file)
        #expect { try Harness(.file(file)) } throws: { ($0 as? DatabaseError)?.code == .notADatabase }
        #expect(try Data(contentsOf: file) == contents)
        #expect(Self.names(beside: file) == [file.lastPathComponent])
        try FileManager.default.removeItem(at: file)
      }
      try await makeDatabase(file, jobs: 10)
      var contents = try Data(contentsOf: file)
      contents.replaceSubrange(0..<16, with: repeatElement(0xAA, count: 16))
      try contents.write(to: file)
      #expect { try Harness(.file(file)) } throws: { ($0 as? DatabaseError)?.code == .notADatabase }
      #expect(try Data(contentsOf: file) == contents)
    }
  }

  @Test func damagedInTheMiddle_isATypedError() async throws {
    try await withDatabaseFile { file in
      try await makeDatabase(file, jobs: 3000)
      var contents = try Data(contentsOf: file)
      contents.replaceSubrange(4096..<contents.count, with: repeatElement(0xAA, count: contents.count - 4096))
      try contents.write(to: file)
      var found: DatabaseError?
      do {
        let queue = try DurableQueue.patient(file)
        try await queue.register(Count.self) { _, _ in BlockOperation {} }
        let events = queue.events()
        queue.start()
        do {
          try await queue.enqueue(Count(number: 1))
        } catch let error as DatabaseError {
          found = error
        }
        // The queue says so as well.
        for await event in events {
          if event.kind == .databaseFailed {
            #expect((event.error as? DatabaseError)?.code == .corrupt)
            break
          }
        }
        await queue.stop(grace: .zero)
      } catch let error as DatabaseError {
        found = error
      }
      #expect(found?.code == .corrupt, "\(String(describing: found))")
      #expect(found?.description.contains(".recover") == true)
    }
  }

  @Test func olderSchema_isBroughtUpToDate_andNothingIsLost() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "DurableOperationsTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func open(_ migrations: [String]) throws -> SQLiteStore {
      try SQLiteStore(
        path: folder.path + "/jobs.sqlite", configuration: .standingStill(at: 7), events: EventHub(),
        mustExist: false, migrations: migrations)
    }
    let id: JobID, identity: String
    do {
      let store = try open(Schema.migrations)
      id = try store.transaction { try store.enqueue([StoreHarness.job()])[0] }
      identity = try store.identity()
    }
    // Two steps at once, the second of which is wrong at first.
    let first = "ALTER TABLE durable_jobs ADD COLUMN color TEXT NOT NULL DEFAULT 'red'"
    let second = "CREATE TABLE durable_more (number INTEGER); INSERT INTO durable_more VALUES (3);"
    #expect(throws: DatabaseError.self) { try open(Schema.migrations + [first, "no SQL"]) }
    #expect(try open(Schema.migrations).record(id)?.enqueuedAt == Date(milliseconds: 7))
    do {
      let store = try open(Schema.migrations + [first, second])
      #expect(try store.connection.execute("SELECT color FROM durable_jobs")[0][0] == "red")
      #expect(try store.connection.execute("SELECT number FROM durable_more")[0][0] == 3)
      #expect(try store.record(id)?.state == .waiting)
      #expect(try store.identity() == identity)
    }
    // Once, not each time it is opened; and the program of before knows that it is too old.
    #expect(try open(Schema.migrations + [first, second]).connection.execute("SELECT * FROM durable_more").count == 1)
    #expect { try open(Schema.migrations) } throws: { ($0 as? DatabaseError)?.code == .newerSchema }
  }

  @Test func newerSchema_isRefused_andNothingIsTouched() async throws {
    try await withDatabaseFile { file in
      try await makeDatabase(file, jobs: 10)
      do {
        let inspection = try Inspection(file)
        try inspection.connection.execute("UPDATE durable_meta SET value = value + 1 WHERE key = 'schema'")
      }
      let contents = try Data(contentsOf: file)
      for location in [DurableQueue.Location.file(file), .existingFile(file)] {
        #expect { try Harness(location) } throws: { ($0 as? DatabaseError)?.code == .newerSchema }
        #expect(try Data(contentsOf: file) == contents)
        #expect(Self.names(beside: file) == [file.lastPathComponent])
      }
    }
  }

  @Test func lockedByAnother_isBusy_andTheRunnerGoesOnAfterwards() async throws {
    try await withDatabaseFile { file in
      var configuration = DurableQueue.Configuration()
      configuration.busyTimeout = .milliseconds(20)
      configuration.pollInterval = .milliseconds(20)
      let queue = try DurableQueue(location: .file(file), configuration: configuration)
      let seen = EventRecorder<Int>(), started = Gate(), release = Gate()
      try await queue.register(Count.self) { job, _ async throws in
        seen.record(job.number)
        guard job.number == 1 else { return }
        started.open()
        await release.wait()
      }
      let events = queue.events()
      queue.start()
      let first = try await queue.enqueue(Count(number: 1))
      await started.wait()
      let lock = try Inspection(file)
      try lock.connection.execute("BEGIN EXCLUSIVE")
      #expect { try enqueueAtOnce(Count(number: 2), in: queue) } throws: { ($0 as? DatabaseError)?.code == .busy }
      await #expect { try await queue.enqueue(Count(number: 3)) } throws: { ($0 as? DatabaseError)?.code == .busy }
      release.open()
      for await event in events {
        guard event.kind == .databaseFailed else { continue }
        #expect((event.error as? DatabaseError)?.code == .busy)
        break
      }
      // Reading goes on.
      #expect(try await queue.job(first)?.state == .executing)
      try lock.connection.execute("COMMIT")
      try await queue.enqueue(Count(number: 4))
      try await queue.waitUntilIdle()
      #expect(seen.events == [1, 4])
      #expect(try await queue.counts()[.done] == 2)
      await queue.stop()
    }
  }

  @Test(arguments: ["removed", "moved", "replaced"])
  func file_thatIsNoLongerInItsPlace_takesNoJobs_andTheNextLookTells(what: String) async throws {
    try await withDatabaseFile { file in
      func isToldOf(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return error.code == .fileLost && error.description.contains(file.path)
      }
      let queue = try DurableQueue.patient(file)
      let ends = ["", "-wal", "-shm"]
      try await queue.enqueue(Count(number: 1))
      for end in ends {
        if what == "moved" {
          try FileManager.default.moveItem(atPath: file.path + end, toPath: file.path + ".away" + end)
        } else {
          try FileManager.default.removeItem(atPath: file.path + end)
        }
      }
      if what == "replaced" { try await makeDatabase(file, jobs: 2) }
      await #expect { try await queue.enqueue(Count(number: 2)) } throws: { isToldOf($0) }
      #expect { try enqueueAtOnce(Count(number: 3), in: queue) } throws: { isToldOf($0) }
      await #expect { try await queue.transaction { try $0.enqueue(Count(number: 4)) } } throws: { isToldOf($0) }
      await #expect { try await queue.compact() } throws: { isToldOf($0) }
      let events = queue.events()
      queue.start()
      for await event in events where event.kind == .databaseFailed {
        #expect(event.error.map(isToldOf) == true)
        break
      }
      await queue.stop(grace: .zero)
      guard what == "moved" else { return }
      for end in ends {
        try FileManager.default.moveItem(atPath: file.path + ".away" + end, toPath: file.path + end)
      }
      try await queue.enqueue(Count(number: 5))
      #expect(try await queue.counts().total == 2)
    }
  }

  @Test func failuresInARow_areLoggedOnce_andThatTheyAreOver() async throws {
    try await withDatabaseFile { file in
      let log = EventRecorder<JobEvent.Kind>(), told = EventRecorder<JobEvent.Kind>()
      let harness = try Harness(.file(file)) { configuration in
        configuration.busyTimeout = .milliseconds(1)
        configuration.logHandler = { log.record($0.kind) }
      }
      let started = Gate(), release = Gate()
      try await harness.queue.register(Count.self) { _, _ async throws in
        started.open()
        await release.wait()
      }
      let events = harness.queue.events(bufferingPolicy: .unbounded)
      let listening = Task { for await event in events { told.record(event.kind) } }
      defer { listening.cancel() }
      harness.queue.start()
      let id = try await harness.queue.enqueue(Count(number: 1))
      await started.wait()
      let lock = try Inspection(file)
      try lock.connection.execute("BEGIN EXCLUSIVE")
      release.open()
      var turns = Turns()
      while told.count(of: .databaseFailed) < 3, !Task.isCancelled {
        harness.clock.advance(by: .seconds(1))
        await turns.next()
      }
      try lock.connection.execute("COMMIT")
      await harness.advance(by: .seconds(1), until: .done, of: id)
      while !log.contains(.databaseBack), !Task.isCancelled {
        harness.clock.advance(by: .seconds(1))
        await turns.next()
      }
      await harness.queue.stop()
      #expect(log.events == [.databaseFailed, .databaseBack])
    }
  }

  private func enqueueAtOnce(_ job: Count, in queue: DurableQueue) throws { try queue.enqueue(job) }

  private func makeDatabase(_ file: URL, jobs: Int) async throws {
    do {
      let queue = try DurableQueue.patient(file)
      try await queue.enqueue(contentsOf: (1...jobs).map { Count(number: $0) })
    }
    // The last user of the queue closes the connections; then the log is removed.
    await until(Self.names(beside: file) == [file.lastPathComponent])
  }

  private static func names(beside file: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path))?
      .sorted() ?? []
  }
}
