import Foundation
import TestSupport
import Testing

#if os(macOS) || os(Linux)
/// The built PhotoOrder executable, run as a process of its own.
final class Program: Sendable {
  struct Result: Sendable {
    let status: Int32
    /// Whether a signal ended the process, instead of its own exit.
    let wasKilled: Bool
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Whether these lines came in this order, with others between them or not.
    func has(_ expected: String...) -> Bool {
      var rest = lines[...]
      for line in expected {
        guard let index = rest.firstIndex(of: line) else { return false }
        rest = rest[(index + 1)...]
      }
      return true
    }
  }

  private let process: Process
  /// Kept: a folder goes when no test and no program has it any longer.
  private let folder: TemporaryFolder
  private let scratch: TemporaryFolder
  private let ended = Gate()

  /// Starts PhotoOrder in `folder`.
  ///
  /// - Parameters:
  ///   - input: becomes the standard input, instead of nothing.
  ///   - terminal: becomes the standard input and the standard output.
  ///   - output: becomes the standard output, instead of a file.
  init(
    _ arguments: [String], in folder: TemporaryFolder, input: String = "", terminal: FileHandle? = nil,
    output: FileHandle? = nil,
    environment: [String: String] = ["TERM": "xterm", "LC_ALL": "C.UTF-8"]
  ) throws {
    self.folder = folder
    scratch = try TemporaryFolder(["input": input, "output": "", "errors": ""])
    process = Process()
    process.executableURL = try BuiltExecutable.url(of: "PhotoOrder")
    process.arguments = (arguments.contains("--sample-width") ? [] : ["--sample-width", "40"]) + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    // Files and not pipes: the test need not fill or empty them while the process runs.
    process.standardInput = try terminal ?? FileHandle(forReadingFrom: URL(fileURLWithPath: scratch.path + "/input"))
    process.standardOutput =
      try terminal ?? output ?? FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path + "/output"))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path + "/errors"))
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  deinit {
    // Its test has failed, or had no time left: nothing waits any longer for the end, which might
    // never come by itself.
    if !ended.isOpen, process.isRunning { send(SIGKILL) }
  }

  /// Runs PhotoOrder in `folder` to its end.
  static func run(_ arguments: String..., in folder: TemporaryFolder) async throws -> Result {
    try await Program(arguments, in: folder).result()
  }

  /// Runs PhotoOrder with a script, into the folder `order`.
  static func run(
    script: String, _ arguments: String..., in folder: TemporaryFolder
  ) async throws -> Result {
    try folder.write(Data(script.utf8), to: "order.script")
    return try await Program(["--output", "order", "--script", "order.script"] + arguments, in: folder).result()
  }

  func send(_ signal: Int32) {
    kill(process.processIdentifier, signal)
  }

  /// Waits for the end of the process.
  ///
  /// - Throws: `CancellationError` when the time of the test is up. The process ends when the test
  ///   lets go of its program.
  func result() async throws -> Result {
    try await ended.waitUnlessCancelled()
    return Result(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
      output: try scratch.text("output"), errors: try scratch.text("errors"))
  }
}
#endif

/// The photos that tests order: longer than the pieces in which files are read, and not a multiple
/// of them.
enum TestPhoto {
  static let first = Data((0..<200_001).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
  static let second = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(first, to: "a.jpg")
    try folder.write(second, to: "in/b.jpg")
    return folder
  }
}
