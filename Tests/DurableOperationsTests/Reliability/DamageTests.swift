import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Damaged and foreign contents of a file are errors, and hide nothing else.
@Suite(.timeLimit(.minutes(30))) struct DamageTests {
  /// A file with one job, and one statement more.
  private func file(after statement: String) throws -> URL {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sqlite")
    let queue = try DurableQueue(location: .file(file))
    _ = try queue.enqueue(Count(number: 1))
    try queue.transaction { try $0.execute("CREATE TABLE mine (a)") }
    let connection = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
    try connection.execute(statement)
    return file
  }

  private func remove(_ file: URL) {
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) }
  }

  /// DUR-11
  @Test(arguments: [
    "UPDATE durable_meta SET value = -5 WHERE key = 'schema'",
    "UPDATE durable_meta SET value = 'x' WHERE key = 'schema'",
    "DELETE FROM durable_meta WHERE key = 'schema'",
  ])
  func versionOfTheTables_thatThereCannotBe_isAnError(_ statement: String) throws {
    let file = try file(after: statement)
    defer { remove(file) }
    for location in [DurableQueue.Location.file(file), .existingFile(file)] {
      #expect(databaseErrorCode { _ = try DurableQueue(location: location) } == .corrupt)
    }
  }

  /// DUR-12
  @Test(arguments: [Int64.max, .min, 9_000_000_000_000_000])
  func date_thatIsNone_isExportedAsTheLastThereIs(_ milliseconds: Int64) throws {
    let file = try file(after: "UPDATE durable_jobs SET run_at = \(milliseconds), enqueued_at = \(milliseconds)")
    defer { remove(file) }
    var lines: [String] = []
    let queue = try DurableQueue(location: .file(file))
    try queue.export { lines.append($0) }
    #expect(lines.count == 1 && lines[0].contains(milliseconds > 0 ? "\"9999-12-31T" : "\"0001-01-0"), "\(lines)")
  }

  @Test(arguments: [Int64.max, .min, -1])
  func count_thatThereCannotBe_endsNothing(_ count: Int64) async throws {
    let file = try file(
      after: "INSERT OR REPLACE INTO durable_counts VALUES (1, 0, \(count)), (1, 4, \(count)), (1, 77, 1)")
    defer { remove(file) }
    let queue = try DurableQueue(location: .file(file))
    #expect(try await queue.counts().total >= 0)
    try await queue.compact()
    #expect(try await queue.counts()["count"]?.states == [.waiting: 1])
  }

  /// TOOL-5
  @Test func charactersThatATerminalObeys_areEscapedInExports() throws {
    let queue = try DurableQueue(location: .memory)
    _ = try queue.enqueue(Count(number: 1), options: JobOptions(uniqueKey: UniqueKey("a\u{9B}b\u{202E}c")))
    var lines: [String] = []
    try queue.export { lines.append($0) }
    #expect(lines.count == 1 && lines[0].contains(#""uniqueKey":"a\u009bb\u202ec""#), "\(lines)")
  }

  /// DUR-14
  @Test func periodicJobThatCannotBeRead_hidesNoOther() async throws {
    let queue = try DurableQueue(location: .memory)
    for name in ["a", "b", "c"] { try await queue.schedule(Count(number: 1), named: name, .interval(.seconds(60))) }
    try await queue.transaction { db in
      _ = try db.execute("UPDATE durable_periodic SET options = '{}' WHERE name = 'b'")
    }
    var unreadable: [String?] = []
    func atOnce() throws -> [PeriodicJob] { try queue.periodicJobs { unreadable.append($0.periodicJobName) } }
    #expect(try atOnce().map(\.name) == ["a", "c"])
    #expect(unreadable == ["b"])
    let readable = try await queue.periodicJobs { unreadable.append($0.periodicJobName) }
    #expect(readable.map(\.name) == ["a", "c"] && unreadable == ["b", "b"])
    #expect(jobErrorReason { _ = try queue.periodicJobs() } == .unreadablePeriodicJob(name: "b"))
  }
}
