import CompositeOperations
import ExampleSupport
import Foundation
import OperationTimelines

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
        try StandardStream.output.print(Help.text)
        return ExitStatus.good
      }
      return try await check(options)
    } catch let error where error is StandardStream.Failure || error is OutputFile.Failure {
      complain(error)
      return ExitStatus.broken
    } catch {
      complain(error)
      return ExitStatus.usage
    }
  }

  /// An error is ignored: there is no other place to report it.
  private func complain(_ error: any Error) {
    // The names in it may come from strangers, also those on the command line: a shell puts them
    // there for a *.
    try? StandardStream.error.write("LinkCheck: \(Wording.plainLines("\(error)"))\n")
  }

  private func check(_ options: Options) async throws -> Int32 {
    let progress = TerminalProgress()
    let run = CheckRun(options, progress: progress)
    let operation = run.makeOperation()
    let recorder = options.timeline.map { _ in TimelineRecorder() }
    recorder?.attach(to: operation)
    let signal = Shared<Int32?>(nil)
    let end = await GracefulEnd(showsBars: true) { number in
      signal.withLock { $0 = number }
      operation.cancel()
    }
    defer { end.end() }
    let report: Report?
    do {
      report = try await operation.run().last as? Report
      await progress.finish()
    } catch is CancellationError {
      await progress.finish()
      try print(run.findings.report(isInterrupted: true), options)
      try write(recorder?.timeline, options)
      guard let number = signal.withLock({ $0 }) else { preconditionFailure("Only a signal cancels the run.") }
      return 128 + number
    } catch let error as CompositeError {
      await progress.finish()
      throw error.failures[0].error
    }
    guard let report else { preconditionFailure("The last step of the run makes the report.") }
    try print(report, options)
    try write(recorder?.timeline, options)
    return report.isFailure(strict: options.strict) ? ExitStatus.broken : ExitStatus.good
  }

  /// The standard output carries the report and nothing else.
  private func print(_ report: Report, _ options: Options) throws(StandardStream.Failure) {
    try StandardStream.output.print(options.json ? report.json : report.text)
  }

  private func write(_ timeline: Timeline?, _ options: Options) throws(OutputFile.Failure) {
    guard let timeline, let path = options.timeline else { return }
    let page = timeline.html(title: "LinkCheck \(options.paths.joined(separator: " "))")
    try OutputFile.write(page, to: URL(fileURLWithPath: path), as: "timeline")
  }
}
