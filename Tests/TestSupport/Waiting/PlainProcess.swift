import Foundation

/// An executable of this package, run as a process of its own.
public enum PlainProcess {
  /// What a process left behind.
  public struct Result: Sendable {
    /// Its exit status.
    public let status: Int32
    /// What it printed, line by line.
    public let lines: [String]
  }

  /// It is not where the tests were built.
  public struct NotFound: Error {
    /// The name of the executable.
    public let name: String
  }

  /// Runs the executable product called `name` to its end. It may print as much as a pipe holds.
  public static func run(_ name: String, _ arguments: String...) async throws -> Result {
    let process = Process()
    let output = Pipe()
    let ended = Gate()
    process.executableURL = try executable(name)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.terminationHandler = { _ in ended.open() }
    try process.run()
    await ended.wait()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return Result(status: process.terminationStatus, lines: text.split(separator: "\n").map(String.init))
  }

  /// Executables are built into the folder that the tests are built into.
  private static func executable(_ name: String) throws -> URL {
    var starts = Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()]
    starts += CommandLine.arguments.filter { $0.contains(".xctest") }.map { URL(fileURLWithPath: $0) }
    for start in starts {
      let candidate = start.deletingLastPathComponent().appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
    }
    throw NotFound(name: name)
  }
}
