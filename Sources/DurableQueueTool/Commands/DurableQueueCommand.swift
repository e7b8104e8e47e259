import CompositeOperationsCommandLine
import DurableOperations
import Foundation

/// The program: reads the command line, executes it, and returns the exit status.
struct DurableQueueCommand {
  enum ExitStatus {
    static let good: Int32 = 0
    static let failed: Int32 = 1
    static let usage = UsageError.exitStatus
  }

  /// The maximum number of characters of a line; nil for no limit.
  var width: Int?
  /// The time from which ages are computed.
  var now = Date()
  /// The environment, which may name the default place.
  var environment: [String: String] = [:]
  /// Receives the output.
  var output: (String) throws -> Void
  /// Receives errors and questions.
  var errors: (String) -> Void
  /// Waits for the line that answers a question, without its end; nil for the end of the input. Nil
  /// where no user can answer.
  var answer: (() -> String?)?

  /// Executes arguments, given without the name of the program. Returns the exit status.
  func run(_ arguments: [String]) -> Int32 {
    do {
      switch try OptionParser.parse(arguments, environment: environment) {
      case .help(let verb):
        try output(verb.map(Help.text(of:)) ?? Help.text)
        return ExitStatus.good
      case .version:
        try output("durable-queue \(Version.current)\n")
        return ExitStatus.good
      case .printSchema(let script):
        try output(try script.text)
        return ExitStatus.good
      case .run(let request): return try run(request)
      }
    } catch let failure as StandardStream.Failure where failure.isBrokenPipe {
      // The reader has seen enough.
      return ExitStatus.good
    } catch let error as UsageError {
      complain("\(error.problem) \(error.remedy)")
      return ExitStatus.usage
    } catch let error as DatabaseError where error.code == .busy && error.engine == .sqlite {
      complain("Another program has had \(error.path) locked for some seconds. Try again when it has finished.")
      return ExitStatus.failed
    } catch {
      complain("\(error)")
      return ExitStatus.failed
    }
  }

  private func run(_ request: Request) throws -> Int32 {
    let place = request.place
    switch request.action {
    case .list(let page): try list(page, of: place.look(), request)
    case .show(let ids): return try show(ids, of: place.look(), request)
    case .stats: try statistics(of: place.look(), request)
    case .periodic: return try periodic(of: place.look(), request)
    case .workers: try workers(of: place.look(), request)
    case .export(let filter): try export(filter, of: place.look())
    case .doctor: return try diagnose(request)
    case .compact: try compact(place.open(), request)
    case .change(let change):
      if let status = try considerDeleting(change, request) { return status }
      return try perform(change, on: place.open(), request)
    }
    return ExitStatus.good
  }

  /// Writes output of a command whose exit status tells something of its own, also where the reader
  /// has gone, who has seen enough.
  func write(_ text: String) throws {
    do { try output(text) } catch let failure as StandardStream.Failure where failure.isBrokenPipe {}
  }

  /// Prints an error on one line, without characters that a terminal obeys: names and errors of
  /// jobs may be anything.
  func complain(_ text: String) {
    errors("durable-queue: \(Wording.plain(text))\n")
  }
}
