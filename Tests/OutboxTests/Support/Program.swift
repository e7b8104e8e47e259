#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

/// The built Outbox executable, run as a process of its own in a folder.
final class Program: @unchecked Sendable {  // `process` is only asked for its number, and how it ended
  struct Result: Sendable {
    let status: Int32
    /// Whether a signal ended the process, instead of its own exit.
    let wasKilled: Bool
    let lines: [String]
    let errors: String
  }

  private enum Event: Equatable, Sendable {
    case line(String)
    case end
  }

  private let process = Process()
  /// Stays as long as this.
  private let folder: TemporaryFolder
  private let events = EventRecorder<Event>()
  /// The same of its errors.
  private let complaints = EventRecorder<Event>()
  private let ended = Gate()
  private let input: InputPipe

  /// - Parameter place: where its messages are; the usual file if nothing says otherwise.
  init(_ arguments: [String], at place: Place? = nil, in folder: TemporaryFolder) throws {
    self.folder = folder
    let pipe = "pipe-\(UUID().uuidString)"
    process.executableURL = try BuiltExecutable.url(of: "Outbox")
    input = try InputPipe(path: folder.path + "/input-" + pipe)
    // When the tests are aborted, the programs that they started end, too.
    let runsOn = ["run", "serve"].contains(arguments.first) && !arguments.contains("--help")
    process.arguments = arguments + (place?.options ?? []) + (runsOn ? ["--until-input-ends"] : [])
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    process.standardInput = input.output
    process.terminationHandler = { [ended] _ in ended.open() }
    let output = try LinePipe(path: folder.path + "/output-" + pipe) { [events] line in
      events.record(line.map(Event.line) ?? .end)
    }
    process.standardOutput = output.input
    let errors = try LinePipe(path: folder.path + "/errors-" + pipe) { [complaints] line in
      complaints.record(line.map(Event.line) ?? .end)
    }
    process.standardError = errors.input
    try process.run()
    // Otherwise the end of the output never comes, nor that of the input.
    try output.input.close()
    try errors.input.close()
    try input.output.close()
  }

  /// Runs Outbox in `folder` to its end.
  static func run(_ arguments: String..., at place: Place? = nil, in folder: TemporaryFolder) async throws -> Result {
    try await Program(arguments, at: place, in: folder).result()
  }

  /// What it has printed so far.
  var lines: [String] { Self.lines(events) }

  private static func lines(_ recorder: EventRecorder<Event>) -> [String] {
    recorder.events.compactMap { event in
      guard case .line(let line) = event else { return nil }
      return line
    }
  }

  /// Waits until it has printed this many lines with a text in them, or has ended.
  func wait(forLines count: Int, with text: String = "") async {
    await events.wait { events in
      events.last == .end
        || events.count { event in
          guard case .line(let line) = event else { return false }
          return text.isEmpty || line.contains(text)
        } >= count
    }
  }

  /// Waits until it has printed this many errors, or has ended.
  func wait(forComplaints count: Int) async {
    await complaints.wait { $0.last == .end || $0.count >= count }
  }

  func send(_ signal: Int32) {
    Foundation.kill(process.processIdentifier, signal)
  }

  /// Kills it after a time that is independent of its work, unless it has ended by then.
  func kill(after delay: Duration) async {
    let isOver = Gate()
    let (seconds, attoseconds) = delay.components
    let time = DispatchTime.now() + Double(seconds) + Double(attoseconds) / 1e18
    DispatchQueue.global().asyncAfter(deadline: time) { [self] in
      if process.isRunning { send(SIGKILL) }
      isOver.open()
    }
    await isOver.wait()
  }

  func endInput() {
    input.end()
  }

  /// Waits for the end of the process.
  func result() async throws -> Result {
    do {
      try await ended.waitUnlessCancelled()
    } catch {
      // The time of the test is up.
      send(SIGKILL)
      throw error
    }
    await events.wait(for: .end)
    await complaints.wait(for: .end)
    return Result(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal, lines: lines,
      errors: Self.lines(complaints).map { $0 + "\n" }.joined())
  }
}

/// `Outbox serve`, on a port that is free.
struct Server: Sendable {
  let program: Program
  let url: String

  init(_ arguments: String..., in folder: TemporaryFolder, port: String = "0") async throws {
    self = try #require(try await Server(arguments: arguments, in: folder, port: port))
  }

  /// Nil if it ended at once, as on a port that another server has.
  private init?(arguments: [String], in folder: TemporaryFolder, port: String) async throws {
    program = try Program(["serve", "--port", port] + arguments, in: folder)
    await program.wait(forLines: 1)
    guard let url = program.lines.first?.split(separator: " ").first.map(String.init) else { return nil }
    self.url = url
  }

  /// One that can be started again on its port after it was killed.
  static func onSteadyPort(_ arguments: String..., in folder: TemporaryFolder) async throws -> Server {
    for _ in 1..<SteadyPort.attempts {
      let port = "\(SteadyPort.random())"
      if let server = try await Server(arguments: arguments, in: folder, port: port) { return server }
    }
    return try #require(try await Server(arguments: arguments, in: folder, port: "\(SteadyPort.random())"))
  }

  var port: String { String(url.split(separator: ":").last ?? "") }

  /// Asks it to end.
  func stop() async throws -> Program.Result {
    program.send(SIGTERM)
    return try await program.result()
  }
}
#endif
