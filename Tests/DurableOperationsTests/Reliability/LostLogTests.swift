#if os(macOS) || os(Linux)
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-3: the last writes are only in the log. If the log is lost, the queue reports that.
@Suite(.timeLimit(.minutes(30))) struct LostLogTests {
  /// Opens a file, and returns what was reported of it.
  private func opened(_ file: URL) throws -> (queue: DurableQueue, reported: [String]) {
    let reported = EventRecorder<String>()
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(60)
    configuration.logHandler = { event in reported.record("\((event.error as? DatabaseError)?.code.description ?? "")")
    }
    return (try DurableQueue(location: .file(file), configuration: configuration), reported.events)
  }

  private func copy(_ file: URL, withLog: Bool = false) throws -> URL {
    let copy = file.deletingLastPathComponent().appending(path: "\(UUID()).sqlite")
    try FileManager.default.copyItem(at: file, to: copy)
    if withLog { try FileManager.default.copyItem(atPath: file.path + "-wal", toPath: copy.path + "-wal") }
    return copy
  }

  @Test func log_thatIsLost_isToldOf() async throws {
    try await withDatabaseFile { file in
      let (queue, reported) = try opened(file)
      try await queue.enqueue(contentsOf: [Count(number: 1), Count(number: 2)])
      #expect(reported == [])
      let copy = try copy(file)
      do {
        let (other, reported) = try opened(copy)
        #expect(reported == ["logLost"])
        #expect(try await other.counts().total == 0)
        let events = other.events()
        other.start()
        for await event in events {
          let error = event.error as? DatabaseError
          #expect(event.kind == .databaseFailed && error?.code == .logLost)
          #expect(error?.description.contains("\(copy.path)-wal") == true)
          break
        }
        try await other.enqueue(Count(number: 3))
        await other.stop()
      }
      await until(!FileManager.default.fileExists(atPath: copy.path + "-wal"))
      let (again, told) = try opened(copy)
      #expect(told == [] && again.core.withLock { $0.state.phase } == .idle)
      #expect(try await again.counts().total == 1)
    }
  }

  @Test func log_ofAQueueThatHasStopped_isNotMissed_andIsIfItGoesOn() async throws {
    try await withDatabaseFile { file in
      let (queue, _) = try opened(file)
      #expect(try opened(copy(file)).reported == [], "nothing was stored yet")
      queue.start()
      try await queue.enqueue(Count(number: 1))
      await queue.stop()
      let stopped = try opened(copy(file))
      #expect(stopped.reported == [])
      #expect(try await stopped.queue.counts().total == 1)
      try await queue.enqueue(Count(number: 2))
      #expect(try opened(copy(file, withLog: true)).reported == [])
      #expect(try opened(copy(file)).reported == ["logLost"])
    }
  }

  @Test func log_thatIsLost_afterTheFileWasCompacted_isToldOf() async throws {
    try await withDatabaseFile { file in
      let (queue, _) = try opened(file)
      try await queue.enqueue(Count(number: 1))
      try await queue.compact()
      #expect(try opened(copy(file)).reported == [])
      try await queue.enqueue(Count(number: 2))
      #expect(try opened(copy(file, withLog: true)).reported == [])
      #expect(try opened(copy(file)).reported == ["logLost"])
    }
  }

  @Test func fileThatWasClosed_byWhateverProgram_misses_nothing() async throws {
    try await withDatabaseFile { file in
      for number in 0..<3 {
        do {
          let (queue, reported) = try opened(file)
          #expect(reported == [])
          try await queue.enqueue(Count(number: number))
        }
        await until(!FileManager.default.fileExists(atPath: file.path + "-wal"))
      }
      let child = try DurableChild(file)
      child.tell("enqueue 1 run")
      await child.wait(for: "enqueued 4")
      await child.killAndWait()
      do {
        let other = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
        try other.execute("SELECT count(*) FROM durable_jobs")
      }
      #expect(!FileManager.default.fileExists(atPath: file.path + "-wal"))
      let (queue, reported) = try opened(file)
      #expect(reported == [])
      #expect(try await queue.counts().total == 4)
    }
  }

  @Test func programThatWasKilledWhileItAnnouncedTheLog_leavesNoFalseAlarm() async throws {
    try await withDatabaseFile { file in
      let (queue, _) = try opened(file)
      let killed: URL
      do {
        let other = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
        try other.execute("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('log', 'announced')")
        killed = try copy(file, withLog: true)
      }
      #expect(try await queue.counts().total == 0)
      do {
        let (next, reported) = try opened(killed)
        #expect(reported == [])
        try await next.enqueue(Count(number: 1))
      }
      await until(!FileManager.default.fileExists(atPath: killed.path + "-wal"))
      let (last, reported) = try opened(killed)
      #expect(reported == [])
      #expect(try await last.counts().total == 1)
    }
  }

  @Test func programThatWasKilledWhileItAnnouncedTheLog_andAnotherThatClosedTheFile_leaveNoFalseAlarm() async throws {
    try await withDatabaseFile { file in
      func execute(_ sql: String) throws {
        try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true).execute(sql)
      }
      do { _ = try opened(file) }
      await until(!FileManager.default.fileExists(atPath: file.path + "-wal"))
      // It gets no further than to the announcement.
      try execute(
        """
        CREATE TRIGGER killing BEFORE INSERT ON durable_meta WHEN NEW.key = 'log' AND NEW.value = 'used'
        BEGIN SELECT RAISE(ABORT, 'killed'); END
        """)
      do {
        let (queue, _) = try opened(file)
        await #expect(throws: DatabaseError.self) { try await queue.enqueue(Count(number: 1)) }
      }
      await until(!FileManager.default.fileExists(atPath: file.path + "-wal"))
      try execute("DROP TRIGGER killing")
      do {
        let (queue, reported) = try opened(file)
        #expect(reported == [])
        try await queue.enqueue(Count(number: 2))
        #expect(try opened(copy(file)).reported == ["logLost"], "and what is lost then is told of")
      }
      #expect(!FileManager.default.fileExists(atPath: file.path + "-announcing"))
    }
  }

  @Test func twoAnnounceAtOnce_andOneIsKilledBeforeItTookThatBack_leavesTheMark() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-announcing").path
    defer { unlink(path) }
    do {
      let first = AnnouncementMark(at: path)
      do {
        // It announces when the first has begun, and is killed after the first has ended.
        let killed = AnnouncementMark(at: path)
        first.remove()
        #expect(AnnouncementMark.exists(at: path))
        _ = consume killed
      }
      #expect(AnnouncementMark.exists(at: path))
    }
    // The next one does what the killed one could not.
    AnnouncementMark(at: path).remove()
    #expect(!AnnouncementMark.exists(at: path))
  }

  @Test func mark_ofOne_isSignedOnce() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-announcing").path
    let mark = AnnouncementMark(at: path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == UUID().uuidString.utf8.count)
    mark.remove()
  }

  @Test func manyAnnounceAtOnce_theMarkIsThereAsLongAsOneDoes_andGoneWhenAllHave() async {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-announcing").path
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          await onWorker {
            for _ in 0..<100 {
              let mark = AnnouncementMark(at: path)
              #expect(AnnouncementMark.exists(at: path))
              mark.remove()
            }
          }
        }
      }
    }
    AnnouncementMark(at: path).remove()
    #expect(!AnnouncementMark.exists(at: path))
  }

  @Test(arguments: ["folder", "pipe", "link"])
  func whateverElseStandsWhereTheMarkWouldBe_isLeftAlone(_ kind: String) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-announcing").path
    switch kind {
    case "folder": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case "pipe": #expect(mkfifo(path, 0o600) == 0)
    default: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere")
    }
    defer { try? FileManager.default.removeItem(atPath: path) }
    AnnouncementMark(at: path).remove()
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType != .typeRegular)
  }

  /// The tables of a young file are never in its log.
  @Test func fileThatCouldNotBeMade_isAsItWas() async throws {
    try await withDatabaseFile { file in
      #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
      #expect(throws: DatabaseError.self) {
        try SQLiteStore(
          path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: false,
          migrations: Schema.migrations + ["no SQL"])
      }
      let contents = try Data(contentsOf: file)
      let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
      #expect(contents.isEmpty && names == [file.lastPathComponent])
    }
  }
}
#endif
