#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// Commands that only read leave a file as it is, and need only read permission.
@Suite(.timeLimit(.minutes(30))) struct LookingOnlyTests {
  private static let commands = [
    ["list"], ["list", "--json"], ["show", "3"], ["stats"], ["periodic"], ["export"],
    ["delete-unstarted", "--all", "--dry-run"],
    ["delete", "3", "--dry-run"],
  ]

  private func look(at path: String) {
    for command in Self.commands {
      let ran = tool([command[0], path] + command.dropFirst())
      #expect(ran.status == 0 && ran.errors == "" && ran.output != "", "\(command) \(ran)")
    }
  }

  /// A file with jobs that no program has open.
  private func quietSample() async throws -> Sample {
    let (sample, _) = try await Sample.withJobs()
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    return sample
  }

  private func setMode(_ mode: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test func quietFile_staysAsItIs_withNothingBesideIt() async throws {
    let sample = try await quietSample()
    let before = try Snapshot(sample.folder)
    #expect(before.names == ["jobs.sqlite"])
    look(at: sample.path)
    #expect(try Snapshot(sample.folder) == before)
  }

  @Test func fileThatMayNotBeWritten_isLookedAt() async throws {
    let sample = try await quietSample()
    try setMode(0o444, of: sample.path)
    try setMode(0o555, of: sample.folder.path)
    defer { try? setMode(0o755, of: sample.folder.path) }
    let before = try Snapshot(sample.folder)
    look(at: sample.path)
    #expect(try Snapshot(sample.folder) == before)
  }

  @Test func fileInUse_isSeenAsItIs_andStaysSo() async throws {
    let (sample, _) = try await Sample.withJobs()
    let queue = try sample.queue()
    let id = try await queue.enqueue(Mail(to: "in the log"))
    let before = try Snapshot(sample.folder, isLive: true)
    #expect(before.names == ["jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"])
    look(at: sample.path)
    #expect(tool("show", sample.path, "\(id)").output.contains("in the log"))
    #expect(try Snapshot(sample.folder, isLive: true) == before)
    withExtendedLifetime(queue) {}
  }

  /// As a killed process leaves it.
  @Test func unusedFileWithALog_isReadWithIt_andStaysAsItIs() async throws {
    let (sample, _) = try await Sample.withJobs()
    let queue = try sample.queue()
    let id = try await queue.enqueue(Mail(to: "in the log"))
    let copy = try Sample()
    for end in ["", "-wal", "-shm"] {
      try FileManager.default.copyItem(atPath: sample.path + end, toPath: copy.path + end)
    }
    withExtendedLifetime(queue) {}
    let before = try Snapshot(copy.folder, isLive: true)
    look(at: copy.path)
    #expect(tool("show", copy.path, "\(id)").output.contains("in the log"))
    #expect(try Snapshot(copy.folder, isLive: true) == before)
  }

  @Test func pathWithCharactersThatAddressesNeed_isFound() async throws {
    let sample = try await quietSample()
    let other = sample.folder.appendingPathComponent("a b?c#d%41&ü=.sqlite")
    try FileManager.default.moveItem(atPath: sample.path, toPath: other.path)
    let link = sample.folder.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: other)
    let before = try Snapshot(sample.folder)
    look(at: other.path)
    look(at: link.path)
    #expect(try Snapshot(sample.folder) == before)
  }

  #if os(Linux)
  private static let setpriv = "/usr/bin/setpriv"

  /// The superuser may write everywhere, so another user has to look.
  private func lookAsAnotherUser(_ arguments: [String]) async throws -> (status: Int32, text: String) {
    let process = Process()
    let output = Pipe(), ended = Gate()
    process.executableURL = URL(fileURLWithPath: Self.setpriv)
    process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    process.terminationHandler = { _ in ended.open() }
    try process.run()
    try output.fileHandleForWriting.close()
    let text = await onWorker { String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    await ended.wait()
    return (process.terminationStatus, text)
  }

  @Test(.enabled(if: getuid() == 0 && FileManager.default.isExecutableFile(atPath: setpriv)))
  func anotherUser_looks_orIsToldWhatToDo() async throws {
    // Where every user reaches it.
    let program = try Sample()
    let executable = program.folder.appendingPathComponent("durable-queue").path
    try FileManager.default.copyItem(atPath: try BuiltExecutable.url(of: "durable-queue").path, toPath: executable)
    for path in [program.folder.path, executable] { try setMode(0o755, of: path) }

    let (sample, _) = try await Sample.withJobs()
    let queue = try sample.queue()
    try await queue.enqueue(Mail(to: "in the log"))
    for end in ["", "-wal", "-shm"] { try setMode(0o444, of: sample.path + end) }
    try setMode(0o555, of: sample.folder.path)
    let live = try Snapshot(sample.folder, isLive: true)
    for command in Self.commands {
      let ran = try await lookAsAnotherUser([executable, command[0], sample.path] + command.dropFirst())
      #expect(ran.status == 0, "\(command) \(ran)")
    }
    #expect(try await lookAsAnotherUser([executable, "export", sample.path]).text.contains("in the log"))
    #expect(try Snapshot(sample.folder, isLive: true) == live)

    // A copy with its log, but without the index that SQLite reads it by.
    let copy = try Sample()
    for end in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: sample.path + end, toPath: copy.path + end)
      try setMode(0o444, of: copy.path + end)
    }
    try setMode(0o555, of: copy.folder.path)
    let before = try Snapshot(copy.folder)
    let refused = try await lookAsAnotherUser([executable, "list", copy.path])
    #expect(refused.status == 1)
    #expect(refused.text.contains(copy.path + "-shm") && refused.text.contains("Look at a copy"), "\(refused.text)")
    #expect(try Snapshot(copy.folder) == before)
    // Without a log there is nothing to miss.
    let quiet = try await quietSample()
    try setMode(0o444, of: quiet.path)
    try setMode(0o555, of: quiet.folder.path)
    #expect(try await lookAsAnotherUser([executable, "stats", quiet.path]).status == 0)
    let change = try await lookAsAnotherUser([executable, "hold", quiet.path, "3"])
    #expect(change.status == 1 && change.text.contains("cannot be written to"), "\(change.text)")
    try setMode(0o000, of: quiet.path)
    let secret = try await lookAsAnotherUser([executable, "stats", quiet.path])
    #expect(secret.status == 1 && secret.text.contains("this user may read it"), "\(secret.text)")
    withExtendedLifetime(queue) {}
  }
  #endif
}
#endif
