#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct SignalTests {
  @Test(arguments: [SIGINT, SIGTERM])
  func signal_whileThereIsABar_leavesACursorAndNoFolder(_ signal: Int32) async throws {
    let screen = try Screen()
    // So many that they take minutes.
    let program = try Program(["--images", "20000"], terminal: screen.device)
    await screen.wait(for: "\u{1B}[?25l")
    #if os(Linux)
    #expect(try program.temporaryFiles().count == 1)
    #endif
    program.send(signal)
    let (status, wasKilled) = try await program.end()
    try await screen.end()
    #expect(!wasKilled)
    #expect(status == 128 + signal)
    #expect(screen.text.ranges(of: "\u{1B}[?25h").count == screen.text.ranges(of: "\u{1B}[?25l").count)
    #expect(try program.temporaryFiles() == [])
  }
}

/// The built ImagePipeline executable, run as a process of its own.
private final class Program: Sendable {
  private let process = Process()
  private let folder: URL
  private let ended = Gate()

  /// - Parameter terminal: becomes the standard error output.
  init(_ arguments: [String], terminal: FileHandle) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("ImagePipelineTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process.executableURL = try BuiltExecutable.url(of: "ImagePipeline")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["TERM": "xterm", "TMPDIR": folder.path]) { _, new in new }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = terminal
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  deinit {
    // Its test has failed, or had no time left.
    if !ended.isOpen, process.isRunning { send(SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  /// What it has in its folder for temporary files; on macOS it uses that of the user instead.
  func temporaryFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
  }

  func send(_ signal: Int32) {
    kill(process.processIdentifier, signal)
  }

  /// Waits for the end of the process.
  ///
  /// - Throws: `CancellationError` when the time of the test is up.
  func end() async throws -> (status: Int32, wasKilled: Bool) {
    try await ended.waitUnlessCancelled()
    return (process.terminationStatus, process.terminationReason == .uncaughtSignal)
  }
}
#endif
