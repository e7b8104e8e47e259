#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

/// The built LinkCheck executable, run as a process of its own.
final class Tool: Sendable {
  struct Result: Sendable {
    let status: Int32
    /// Whether a signal ended the process, instead of its own exit.
    let wasKilled: Bool
    let output: String
    let errors: String

    /// The report that `--json` printed.
    func report() throws -> JSONReport {
      try JSONDecoder().decode(JSONReport.self, from: Data(output.utf8))
    }
  }

  private let process: Process
  /// Kept: a folder goes when tests and tools no longer have it.
  private let folder: TemporaryFolder
  private let scratch: TemporaryFolder
  private let ended = Gate()

  /// Starts LinkCheck in `folder`.
  ///
  /// - Parameters:
  ///   - terminal: Becomes the standard error output, instead of a file.
  ///   - output: Becomes the standard output, instead of a file.
  init(
    _ arguments: [String], in folder: TemporaryFolder, terminal: FileHandle? = nil, output: FileHandle? = nil
  ) throws {
    self.folder = folder
    scratch = try TemporaryFolder(["output": "", "errors": ""])
    process = Process()
    process.executableURL = try BuiltExecutable.url(of: "LinkCheck")
    // Nothing here shall depend on how fast this machine is: only tests of the time limit set one
    // that can be met.
    process.arguments = (arguments.contains("--timeout") ? [] : ["--timeout", "3600"]) + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    // Servers on this machine are asked directly, whatever the environment says.
    process.environment = ProcessInfo.processInfo.environment
      .filter { !$0.key.lowercased().hasSuffix("_proxy") }
      .merging(["TERM": "xterm"]) { _, new in new }
    process.standardInput = FileHandle.nullDevice
    // Files and not pipes: the test need not empty them while the process runs.
    process.standardOutput = try output ?? FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path + "/output"))
    process.standardError = try terminal ?? FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path + "/errors"))
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  deinit {
    // Its test has failed, or had no time left: nothing waits any longer for the end, which might
    // never come by itself.
    if !ended.isOpen, process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Runs LinkCheck in `folder` to its end.
  static func run(_ arguments: String..., in folder: TemporaryFolder) async throws -> Result {
    try await Tool(arguments, in: folder).result()
  }

  var hasEnded: Bool { ended.isOpen }

  /// Sends what Ctrl-C sends, or another signal.
  func interrupt(_ signal: Int32 = SIGINT) {
    kill(process.processIdentifier, signal)
  }

  /// Sends that again and again until the process has ended: what comes at the same time counts
  /// once.
  func interruptUntilItEnds() async {
    var turns = Turns()
    while !ended.isOpen, !Task.isCancelled {
      interrupt()
      await turns.next()
    }
  }

  /// Waits for the end of the process.
  ///
  /// - Throws: `CancellationError` when the time of the test is up. The process ends when the test
  ///   lets go of its tool.
  func result() async throws -> Result {
    try await ended.waitUnlessCancelled()
    return Result(
      status: process.terminationStatus,
      wasKilled: process.terminationReason == .uncaughtSignal,
      output: try text(of: "output"), errors: try text(of: "errors"))
  }

  private func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: scratch.path + "/" + name)), as: UTF8.self)
  }
}

/// What `--json` prints, as a reader of it would declare it.
struct JSONReport: Decodable, Equatable {
  struct Links: Decodable, Equatable {
    var total, good, broken, unreachable, redirected, unchecked, skipped: Int
  }

  struct Finding: Decodable, Equatable {
    var file: String
    var line: Int
    var link: String
    var reason: String?
    var status: Int?
    var target: String?
    var redirects: Int?
  }

  struct Unreadable: Decodable, Equatable {
    var file: String
    var reason: String
  }

  var files: Int
  var links: Links
  var broken, unreachable, redirected: [Finding]
  var skipped: [String: Int]
  var unreadable: [Unreadable]
  var interrupted: Bool
}
#endif
