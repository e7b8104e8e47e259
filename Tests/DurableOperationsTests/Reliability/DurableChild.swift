#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport

@testable import DurableOperations

/// The program with a queue, as a separate process that reads commands from lines, and prints what
/// it did.
///
/// Not Foundation's `Process`: hundreds of them are started and killed at once here.
final class DurableChild: Sendable {
  struct SpawnError: Error {
    let code: Int32
  }

  /// What it has printed.
  let lines = EventRecorder<String>()
  let processID: pid_t
  private let input: Int32
  private let hasEnded = Gate()
  private let status = LockBox<Int32>(0)
  /// One after the other: none must be given the pipes of another.
  private static let spawning = LockBox(0)

  /// - Parameter arguments: `name=value` each.
  convenience init(_ file: URL, _ arguments: String...) throws {
    try self.init(file, arguments: arguments)
  }

  /// - Parameter wrapper: what starts the program, with its path and arguments behind; nothing for
  ///   itself.
  convenience init(_ file: URL, arguments: [String], wrapper: [String] = []) throws {
    try self.init(arguments: ["file=\(file.path)"] + arguments, wrapper: wrapper)
  }

  /// - Parameter arguments: `name=value` each, where the jobs are stored among them.
  init(arguments: [String], wrapper: [String] = []) throws {
    let program = try BuiltExecutable.url(of: "DurableProgram").path
    // A program that traps would be looked at for long.
    let environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    // Some write to one that was killed.
    Foundation.signal(SIGPIPE, SIG_IGN)
    let output: Int32
    (processID, input, output) = try Self.spawning.withLock { _ in
      let (childInput, input) = try Self.pipe()
      let (output, childOutput) = try Self.pipe()
      defer {
        close(childInput)
        close(childOutput)
      }
      let processID = try Self.spawn(
        wrapper + [program] + arguments, environment.map { "\($0)=\($1)" },
        [childInput, childOutput])
      return (processID, input, output)
    }
    // What was printed before the end is read before the end is told.
    Thread.detachNewThread { [processID, lines, status, hasEnded] in
      Self.readLines(of: output) { lines.record($0) }
      close(output)
      var value: Int32 = 0
      while waitpid(processID, &value, 0) < 0, errno == EINTR {}
      status.withLock { $0 = value }
      hasEnded.open()
      lines.record(Self.end)
    }
  }

  deinit {
    close(input)
    if !hasEnded.isOpen { signal(SIGKILL) }
  }

  // MARK: - Starting

  /// A pipe that no other process is given.
  private static func pipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    guard Foundation.pipe(&ends) == 0 else { throw SpawnError(code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func spawn(_ arguments: [String], _ environment: [String], _ files: [Int32]) throws -> pid_t {
    #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
    #else
    var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, file) in files.enumerated() { posix_spawn_file_actions_adddup2(&actions, file, Int32(number)) }
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    #if os(Linux)
    actions.closeInherited(from: STDERR_FILENO + 1)
    #endif
    let texts = [arguments, environment].map { list in list.map { strdup($0) } + [nil] }
    defer { for text in texts.joined() { free(text) } }
    var processID = pid_t()
    let code = posix_spawn(&processID, arguments[0], &actions, nil, texts[0], texts[1])
    guard code == 0 else { throw SpawnError(code: code) }
    return processID
  }

  private static func readLines(of file: Int32, _ body: (String) -> Void) {
    var rest: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest += buffer[..<count]
      var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      let last = parts.removeLast()
      for part in parts { body(String(decoding: part, as: UTF8.self)) }
      rest = Array(last)
    }
  }

  // MARK: - Talking

  /// What is printed when it has ended.
  static let end = "(ended)"

  /// Does nothing if it has ended.
  func tell(_ command: String) {
    let bytes = Array("\(command)\n".utf8)
    _ = write(input, bytes, bytes.count)
  }

  /// Tells it to do something, and waits until it says that it has.
  func tell(_ command: String, until line: String) async {
    let count = lines.count(of: line)
    tell(command)
    await wait(for: line, count + 1)
  }

  func wait(for line: String, _ count: Int = 1) async {
    await lines.wait { lines in lines.count { $0 == line } >= count }
  }

  func hasSaid(_ line: String) -> Bool { lines.events.contains(line) }

  /// The numbers after a word, in the order of the lines.
  func numbers(after word: String) -> [Int64] {
    lines.events.compactMap { $0.hasPrefix("\(word) ") ? Int64($0.dropFirst(word.count + 1)) : nil }
  }

  /// Waits until that many lines begin with a word.
  func wait(forCount count: Int, of word: String) async {
    await lines.wait { lines in lines.count { $0.hasPrefix("\(word) ") } >= count }
  }

  // MARK: - Ending

  func signal(_ number: Int32) { kill(processID, number) }

  /// Stops it at a moment when it has no lock on the file: otherwise no other process could go on
  /// either.
  func standStill(outsideOfTransactionsOf file: URL) async throws {
    let inspection = try Inspection(file, busyTimeout: .zero)
    var turns = Turns()
    while true {
      try Task.checkCancellation()
      signal(SIGSTOP)
      await until(standsStill)
      do {
        return try inspection.connection.transaction {}
      } catch let error as DatabaseError where error.code == .busy {
        signal(SIGCONT)
        await turns.next()
      }
    }
  }

  /// A signal reaches one thread after the other.
  private var standsStill: Bool {
    #if os(Linux)
    let folder = "/proc/\(processID)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.allSatisfy { thread in
      let stat = (try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)) ?? ""
      return stat.drop { $0 != ")" }.dropFirst(2).first == "T"
    }
    #else
    return true
    #endif
  }

  /// Waits until it has ended, and all that it printed was read. Returns the signal that ended it,
  /// or its status as a negative number.
  @discardableResult
  func end() async -> Int32 {
    await hasEnded.wait()
    let status = status.withLock { $0 }
    return status & 0x7F != 0 ? status & 0x7F : -(status >> 8 & 0xFF)
  }

  @discardableResult
  func killAndWait() async -> Int32 {
    signal(SIGKILL)
    return await end()
  }

  /// Makes it end by itself.
  func exit() async {
    tell("exit")
    await end()
  }
}
#endif
