#if os(macOS) || os(Linux)
import Foundation
import TestSupport

/// The built ImagePipeline executable, run as a process of its own.
final class Program: Sendable {
  private let process = Process()
  private let folder: URL
  private let ended = Gate()

  /// Starts ImagePipeline in an empty folder.
  ///
  /// - Parameters:
  ///   - terminal: becomes the standard error output.
  ///   - output: becomes the standard output.
  init(_ arguments: [String], terminal: FileHandle = .nullDevice, output: FileHandle = .nullDevice) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("ImagePipelineTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process.executableURL = try BuiltExecutable.url(of: "ImagePipeline")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = ProcessInfo.processInfo.environment
      .merging(["TERM": "xterm", "TMPDIR": folder.path]) { _, new in new }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = terminal
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  deinit {
    // Its test has failed, or had no time left.
    if !ended.isOpen, process.isRunning { send(SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  /// What it has in its folder, where its temporary files are too; on macOS those are in that of
  /// the user instead.
  func files() throws -> [String] {
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
