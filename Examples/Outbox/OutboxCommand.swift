import ExampleSupport
import Foundation

/// The program: reads the command line, executes it, and returns the exit status.
struct OutboxCommand {
  enum ExitStatus {
    static let good: Int32 = 0
    static let failed: Int32 = 1
    static let usage = UsageError.exitStatus
  }

  let arguments: [String]

  func run() async -> Int32 {
    do {
      switch try OptionParser.parse(arguments) {
      case .help(let verb):
        try StandardStream.output.write(verb.map(Help.text(of:)) ?? Help.text)
        return ExitStatus.good
      case .enqueue(let folder, let database): return try Enqueueing(database: database).enqueue(folder)
      case .digest(let database): return try Enqueueing(database: database).enqueueDigest()
      case .run(let options): return try await SendingRun(options).run()
      case .status(let database): return try Status(database: database).print()
      case .serve(let options): return try await Serving(options).run()
      }
    } catch let error as UsageError {
      Self.complain("\(error.problem) \(error.remedy)")
      return ExitStatus.usage
    } catch let failure as StandardStream.Failure where failure.isBrokenPipe {
      return ExitStatus.good
    } catch {
      Self.complain("\(error)")
      return ExitStatus.failed
    }
  }

  /// Prints an error. If standard error is closed, that does not matter.
  static func complain(_ text: String) {
    try? StandardStream.error.write("Outbox: \(text)\n")
  }

  /// Prints a line about progress. The work goes on even if standard output is closed.
  static func tell(_ line: String) {
    try? StandardStream.output.write("\(line)\n")
  }
}
