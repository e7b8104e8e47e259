#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// Whatever the tables contain, changing commands and running queues meet at most an error.
@Suite(.timeLimit(.minutes(30))) struct DamagedValuesTests {
  private struct Probe: Job {
    static let kind = "probe"
  }

  private static let tables = [
    "jobs", "kinds", "dependencies", "checkpoints", "workers", "periodic", "counts", "errors", "occurrences", "meta",
  ]

  private static let values = ["9223372036854775807", "-1", "'x'"]

  private static let changes = [
    ["retry", "--all-dead"], ["retry", "5"], ["hold", "3"], ["cancel", "3", "6"], ["priority", "--kind", "mail", "7"],
    ["pause", "mail"], ["resume", "mail"], ["unschedule", "often"], ["delete-unstarted", "--kind", "resize", "--yes"],
    ["delete", "--state", "done", "--yes"], ["compact"],
  ]

  /// A file with rows in all tables: a silent process executes one of its jobs.
  private func sample() async throws -> (sample: Sample, file: Data) {
    let (sample, _) = try await Sample.withJobs()
    try await fill(sample)
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    return (sample, try Data(contentsOf: URL(fileURLWithPath: sample.path)))
  }

  private func fill(_ sample: Sample) async throws {
    let queue = try sample.queue()
    try await queue.schedule(Mail(to: "all"), named: "often", .interval(.seconds(90)), catchUp: .all)
    let lost = try await queue.enqueue(Mail(to: "lost"))
    try await queue.transaction { db in
      try db.execute("INSERT INTO durable_checkpoints (job, data) VALUES (\(lost.rawValue), x'7b7d')")
      try db.execute("INSERT INTO durable_occurrences (name, first, last) VALUES ('often', 1, 90001)")
      try db.execute(
        """
        INSERT INTO durable_workers (id, boot, host, process, started, lease, lease_until)
        VALUES (99, 'earlier', 'elsewhere', 1, 1, 100, 1)
        """)
      try db.execute("UPDATE durable_jobs SET state = 3, worker = 99, claim = 1 WHERE id = \(lost.rawValue)")
    }
  }

  /// Changes a column of all rows. Returns false if it takes no such value.
  private func change(_ column: String, of table: String, to value: String, in file: URL) async throws -> Bool {
    let queue = try DurableQueue(location: .file(file))
    do {
      try await queue.transaction { _ = try $0.execute("UPDATE OR IGNORE durable_\(table) SET \(column) = \(value)") }
      return true
    } catch let error as DatabaseError {
      #expect(error.message.contains("mismatch"), "\(error)")
      return false
    }
  }

  /// Runs the jobs of a file until the last one is done, or the queue reports that it cannot.
  private func run(_ file: URL) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    configuration.leaseDuration = .milliseconds(200)
    let queue: DurableQueue
    do {
      queue = try DurableQueue(location: .file(file), configuration: configuration)
    } catch is DatabaseError {
      return
    }
    let events = queue.events(bufferingPolicy: .unbounded)
    do {
      try await queue.register(Mail.self) { _, _ in }
      try await queue.register(Resize.self) { _, _ in }
      try await queue.register(Probe.self) { _, _ in }
      queue.start()
      let probe = try await queue.enqueue(Probe(), options: JobOptions(priority: .userInitiated))
      for await event in events where event.kind == .databaseFailed || event.kind == .done && event.jobID == probe {
        break
      }
    } catch is DatabaseError {
    } catch is JobError {
    }
    await queue.stop(grace: .zero)
  }

  @Test(arguments: tables)
  func value_thatThereCanNotBe_whereJobsAreChangedAndRun_isAnErrorAtMost(_ table: String) async throws {
    let (sample, good) = try await sample()
    let queue = try sample.queue()
    let columns = try await queue.transaction { try $0.execute("PRAGMA table_info(durable_\(table))") }
      .compactMap(\.["name"].textValue)
    #expect(!columns.isEmpty)
    var number = 0
    for column in columns {
      for value in Self.values {
        for runs in [false, true] {
          number += 1
          guard Scale.includes(number, oneIn: 5) else { continue }
          let file = sample.folder.appendingPathComponent("\(column)-\(UUID().uuidString).sqlite")
          try good.write(to: file)
          guard try await change(column, of: table, to: value, in: file) else { continue }
          if runs {
            try await run(file)
          } else {
            for command in Self.changes {
              let ran = tool([command[0], file.path] + command.dropFirst())
              #expect(ran.status == 0 || ran.status == 1, "\(table).\(column) = \(value): \(command) \(ran.errors)")
            }
          }
          for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) }
        }
      }
    }
    withExtendedLifetime(queue) {}
  }
}
#endif
