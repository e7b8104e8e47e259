import CompositeOperations
import Foundation

/// The program: reads the command line, runs the check, prints, and tells the exit status.
struct LinkCheckCommand {
  enum ExitStatus {
    static let good: Int32 = 0
    static let broken: Int32 = 1
    static let usage: Int32 = 2
  }

  let arguments: [String]

  func run() async -> Int32 {
    do {
      let options = try OptionParser.parse(arguments)
      guard !options.showsHelp else {
        try print(Help.text)
        return ExitStatus.good
      }
      return try await check(options)
    } catch let error as OutputError {
      Terminal.write("LinkCheck: \(error)\n")
      return ExitStatus.broken
    } catch {
      Terminal.write("LinkCheck: \(error)\n")
      return ExitStatus.usage
    }
  }

  private func check(_ options: Options) async throws -> Int32 {
    let progress = ProgressReporter()
    let run = CheckRun(options, progress: progress)
    let operation = run.makeOperation()
    let interrupt = Interrupt { operation.cancel() }
    defer { interrupt.end() }
    let report: Report?
    do {
      report = try await operation.run().last as? Report
      progress.end()
    } catch is CancellationError {
      progress.end()
      try print(run.findings.report(isInterrupted: true), options)
      return Interrupt.exitStatus
    } catch let error as CompositeError {
      progress.end()
      throw error.failures[0].error
    }
    guard let report else { preconditionFailure("The last step of the run makes the report.") }
    try print(report, options)
    return report.isFailure(strict: options.strict) ? ExitStatus.broken : ExitStatus.good
  }

  private func print(_ report: Report, _ options: Options) throws(OutputError) {
    try print(options.json ? report.json : report.text)
  }

  /// The standard output carries the report and nothing else.
  private func print(_ text: String) throws(OutputError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch {
      throw OutputError(reason: error.localizedDescription)
    }
  }

  /// The disk is full, for example.
  private struct OutputError: Error, CustomStringConvertible {
    let reason: String

    var description: String { "the report could not be written: \(reason)" }
  }
}
