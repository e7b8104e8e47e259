#if os(macOS) || os(Linux)
import Foundation

/// An executable of this package, run as a process of its own.
public enum PlainProcess {
  /// The result of a process.
  public struct Result: Sendable {
    /// Its exit status.
    public let status: Int32
    /// What it printed, line by line.
    public let lines: [String]
  }

  /// Runs the executable product called `name` to its end. It may print as much as a pipe holds.
  public static func run(_ name: String, _ arguments: String...) async throws -> Result {
    let process = Process()
    let output = Pipe()
    let ended = Gate()
    process.executableURL = try BuiltExecutable.url(of: name)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.terminationHandler = { _ in ended.open() }
    try process.run()
    do {
      try await ended.waitUnlessCancelled()
    } catch {
      // The time of the test is up.
      process.terminate()
      throw error
    }
    let text = await onWorker { String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    return Result(status: process.terminationStatus, lines: text.split(separator: "\n").map(String.init))
  }
}
#endif
