#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The built executable, run as a process of its own.
@Suite(.timeLimit(.minutes(30))) struct ProcessTests {
  @Test func executable_printsAndExits() async throws {
    let sample = try Sample()
    try await sample.queue().enqueue(Mail(to: "ada"))
    let good = try await PlainProcess.run("durable-queue", "export", sample.path)
    #expect(good.status == 0)
    #expect(good.lines.count == 1)
    let wrong = try await PlainProcess.run("durable-queue", "export")
    #expect(wrong.status == 64)
    let missing = try await PlainProcess.run("durable-queue", "export", sample.path + "x")
    #expect(missing.status == 1)
    #expect(missing.lines.isEmpty)
  }

  @Test func readerThatGoes_endsItQuietly() async throws {
    let sample = try Sample()
    // More than a pipe holds.
    try await sample.queue().enqueue(
      contentsOf: (0..<2000).map { JobRequest(Mail(to: String(repeating: "\($0)", count: 50))) })
    let process = Process()
    let (output, errors) = (Pipe(), Pipe())
    let ended = Gate()
    process.executableURL = try BuiltExecutable.url(of: "durable-queue")
    process.arguments = ["export", sample.path]
    process.standardOutput = output
    process.standardError = errors
    process.terminationHandler = { _ in ended.open() }
    try process.run()
    try output.fileHandleForWriting.close()
    _ = try output.fileHandleForReading.read(upToCount: 10)
    try output.fileHandleForReading.close()
    await ended.wait()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    let complaints = await onWorker { errors.fileHandleForReading.readDataToEndOfFile() }
    #expect(complaints.isEmpty)
  }
}
#endif
