#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct DoctorTests {
  @Test(.enabled(if: PostgresServer.isAvailable)) func soundServer_needsNothing() async throws {
    let server = try await PostgresServer.own()
    try server.query("ALTER SYSTEM SET fsync = on")
    try await server.restart()
    let sample = try await ServerSample(on: server)
    let ran = sample.run("doctor")
    #expect(ran.status == 0 && ran.errors == "", "\(ran)")
    #expect(ran.lines[0].hasSuffix(", schema \(sample.schema)  0 findings need attention"), "\(ran)")
    #expect(ran.lines.dropFirst().allSatisfy { $0.hasPrefix("fine       ") || $0.hasPrefix("           ") }, "\(ran)")
    let json = try #require(try sample.run("doctor", "--json").json() as? [String: Any])
    #expect(json["attention"] as? Int == 0 && json["schema"] as? String == sample.schema)
    let findings = try #require(json["findings"] as? [[String: Any]])
    #expect(findings.count == ran.lines.count { $0.hasPrefix("fine  ") } && findings.count > 10)
    #expect(findings.allSatisfy { $0["level"] as? String == "fine" && $0["remedy"] is NSNull })
    // One that does not wait for the disk, as the others of the tests.
    try server.query("ALTER SYSTEM SET fsync = off")
    try await server.restart()
    let without = sample.run("doctor")
    #expect(without.status == 1)
    #expect(without.lines[0].hasSuffix("1 finding needs attention"), "\(without)")
    #expect(
      without.lines[1...3] == [
        "attention  settings: fsync is off.",
        "           Why: When the power goes, or the system stops, the whole database may be damaged.",
        "           What to do: ALTER SYSTEM SET fsync = on; SELECT pg_catalog.pg_reload_conf();",
      ])
    #expect(sample.run("doctor", "--json").status == 1)
  }

  @Test(.enabled(if: PostgresServer.isAvailable)) func schemaWithoutAQueue_needsAttention_andIsNotMade() async throws {
    let sample = try await ServerSample(isMade: false)
    let ran = sample.run("doctor")
    #expect(ran.status == 1)
    #expect(ran.output.contains("There are no tables of a queue in the schema \(sample.schema)."), "\(ran)")
    #expect(ran.output.replacing(/\s+/, with: " ").contains("durable-queue schema --print --schema \(sample.schema)"))
    let made = try sample.server.query("SELECT count(*) FROM pg_namespace WHERE nspname = '\(sample.schema)'")
    #expect(made == "0")
  }

  @Test func lines_areNotLongerThanTheTerminal() throws {
    let sample = try Sample()
    _ = try sample.queue()
    let ran = tool(["doctor", sample.path], width: 60)
    #expect(ran.lines.dropFirst().allSatisfy { $0.count <= 60 }, "\(ran)")
  }

  @Test func soundFile_needsNothing_andStaysAsItIs() async throws {
    let (sample, _) = try await Sample.withJobs()
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    let before = try Snapshot(sample.folder)
    let ran = tool("doctor", sample.path)
    #expect(ran.status == 0 && ran.errors == "", "\(ran)")
    #expect(ran.lines[0] == "\(sample.path)  0 findings need attention")
    #expect(ran.output.contains("fine       pages: All pages and indexes of the file are sound.\n"))
    #expect(try Snapshot(sample.folder) == before)
    let json = try #require(try tool("doctor", sample.path, "--json").json() as? [String: Any])
    #expect(json["file"] as? String == sample.path && json["attention"] as? Int == 0)
  }

  @Test func fileWithADamagedIndex_needsAttention() async throws {
    let (sample, _) = try await Sample.withJobs()
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    // A key stands in its job and in the index of keys. One of the two becomes another.
    let file = URL(fileURLWithPath: sample.path)
    var bytes = try Data(contentsOf: file)
    let key = try #require(bytes.range(of: Data("ada".utf8), options: .backwards))
    bytes.replaceSubrange(key, with: Data("adb".utf8))
    try bytes.write(to: file)
    let ran = tool("doctor", sample.path)
    #expect(ran.status == 1)
    #expect(ran.output.contains("attention  pages: SQLite finds faults in the file, 1 of them: row "), "\(ran)")
  }

  @Test func fileInAnotherJournalMode_needsAttention() async throws {
    let (sample, _) = try await Sample.withJobs()
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    // Byte 18 and 19 of the header say how the file is written and read: 1 without a log, 2 with
    // one.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: sample.path))
    try file.seek(toOffset: 18)
    try file.write(contentsOf: Data([1, 1]))
    try file.close()
    let ran = tool("doctor", sample.path)
    #expect(ran.status == 1)
    #expect(ran.output.contains("attention  log: The journal mode of the file is delete, not wal."), "\(ran)")
  }

  @Test func fileWithoutItsLog_needsAttention() async throws {
    let sample = try Sample(), copy = try Sample()
    let queue = try sample.queue()
    try await queue.enqueue(Mail(to: "in the log"))
    try FileManager.default.copyItem(atPath: sample.path, toPath: copy.path)
    withExtendedLifetime(queue) {}
    let ran = tool("doctor", copy.path)
    #expect(ran.status == 1)
    #expect(ran.output.contains("The file says that there is a write-ahead log, and there is none."), "\(ran)")
  }
}
#endif
