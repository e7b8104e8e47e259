import CompositeOperations
import DurableOperations
import Foundation

/// One measurement of memory, made in a process of its own, because memory left by other rows would
/// hide it.
enum MemoryProbe: String, CaseIterable, Sendable {
  /// A parallel composite that was not started, with its children.
  case children
  /// The same composite after it finished; it is still held, with its children and values.
  case finishedChildren = "finished-children"
  /// Block operations in an array, for comparison.
  case blocks
  /// A sequence of steps that each return a number; the peak, with the finished sequence held.
  case steps
  /// Jobs that wait in a file, some of which are run; the peak.
  case jobs

  /// Measures here: the bytes that `count` children or steps added.
  func measure(_ count: Int) throws -> Int {
    // The first operation brings the runtime's own tables and threads with it.
    finish(CompositeOperation(operations: [emptyOperation()]))
    finish(CompositeOperation(sequence: NumberSequence(end: 1)))
    let before = try ResidentMemory.current()
    switch self {
    case .children:
      let composite = CompositeOperation(operations: (0..<count).map { _ in emptyOperation() })
      return try withExtendedLifetime(composite) { try ResidentMemory.current() } - before
    case .finishedChildren:
      let composite = finish(CompositeOperation(operations: (0..<count).map { _ in emptyOperation() }))
      return try withExtendedLifetime(composite) { try ResidentMemory.current() } - before
    case .blocks:
      let blocks = (0..<count).map { _ in BlockOperation {} }
      return try withExtendedLifetime(blocks) { try ResidentMemory.current() } - before
    case .steps:
      let composite = finish(CompositeOperation(sequence: NumberSequence(end: count)))
      return try withExtendedLifetime(composite) { try ResidentMemory.peak() } - before
    case .jobs:
      let durable = try Durable(.normal, stored: count)
      _ = Stopwatch.nanoseconds(.async { await durable.enqueueAndRun(1_000) })
      return try withExtendedLifetime(durable) { try ResidentMemory.peak() } - before
    }
  }

  /// Measures in a child process of this program.
  func measureInChildProcess(_ count: Int) throws -> Int {
    #if os(macOS) || os(Linux)
    guard let executable = Bundle.main.executableURL else {
      throw BenchmarkError("the benchmarks' own path is not known")
    }
    let process = Process()
    let output = Pipe()
    process.executableURL = executable
    process.arguments = ["--probe", "\(rawValue):\(count)"]
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard process.terminationStatus == 0, let bytes = Int(text) else {
      throw BenchmarkError(
        "the memory probe '\(rawValue)' ended with status \(process.terminationStatus) and printed '\(text)'")
    }
    return bytes
    #else
    throw BenchmarkError("memory can only be measured where a program can start another")
    #endif
  }
}

/// A reason why the benchmarks cannot measure, in one sentence.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
