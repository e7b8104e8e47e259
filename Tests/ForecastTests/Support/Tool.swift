#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

/// The built Forecast executable, run as a process of its own.
final class Tool: Sendable {
  struct Result: Sendable {
    let status: Int32
    let output: String
    let errors: String
  }

  private let process: Process
  private let folder: URL
  private let ended = Gate()

  /// Starts Forecast in an empty folder.
  ///
  /// - Parameter output: becomes the standard output, instead of a file.
  private init(_ arguments: [String], output: FileHandle? = nil) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("ForecastTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process = Process()
    process.executableURL = try BuiltExecutable.url(of: "Forecast")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    // Servers on this machine are asked directly, whatever the environment says.
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    process.standardInput = FileHandle.nullDevice
    // Files and not pipes: the test need not empty them while the process runs.
    for name in ["output", "errors"] {
      try Data().write(to: folder.appendingPathComponent(name))
    }
    process.standardOutput = try output ?? FileHandle(forWritingTo: folder.appendingPathComponent("output"))
    process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent("errors"))
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  deinit {
    // Its test has failed, or had no time left.
    if !ended.isOpen, process.isRunning { kill(process.processIdentifier, SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  /// Runs Forecast to its end.
  static func run(_ arguments: String...) async throws -> Result {
    try await Tool(arguments).result()
  }

  /// Runs Forecast to its end, and gives a file that it has written too.
  static func run(
    _ arguments: String..., output: FileHandle? = nil, reading file: String
  ) async throws -> (result: Result, text: String) {
    let tool = try Tool(arguments, output: output)
    return (try await tool.result(), try tool.text(of: file))
  }

  private func result() async throws -> Result {
    try await ended.waitUnlessCancelled()
    #expect(process.terminationReason == .exit)
    return Result(status: process.terminationStatus, output: try text(of: "output"), errors: try text(of: "errors"))
  }

  private func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
  }
}
#endif
