import ExampleSupport
import Foundation

/// Reads the command line.
enum OptionParser {
  /// What `arguments`, without the name of the program, ask for.
  static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
    guard let command = arguments.first else {
      throw UsageError(problem: "No command was given.", remedy: "For example: Outbox enqueue letters")
    }
    if ["--help", "-h", "help"].contains(command) {
      return .help(arguments.count > 1 ? try verb(arguments[1]) : nil)
    }
    let verb = try verb(command)
    let parsed = try Arguments(
      arguments.dropFirst(), options: verb.options, command: command,
      help: "Outbox \(command) --help lists the options.")
    if parsed.has("--help") { return .help(verb) }
    let expected = verb == .enqueue ? 1 : 0
    if parsed.words.count > expected {
      throw UsageError(
        problem: "\(command) takes no “\(parsed.words[expected])”.",
        remedy: "Outbox \(command) --help lists what it takes.")
    }
    let database = parsed.value("--database") ?? RunOptions.defaultDatabase
    switch verb {
    case .enqueue:
      guard let folder = parsed.words.first, !folder.isEmpty else {
        throw UsageError(
          problem: "No folder with messages was given.", remedy: "For example: Outbox enqueue letters")
      }
      return .enqueue(folder: folder, database: database)
    case .digest: return .digest(database: database)
    case .status: return .status(database: database)
    case .serve: return .serve(try serveOptions(parsed))
    case .run: return .run(try runOptions(parsed, database: database))
    }
  }

  private static func verb(_ word: String) throws(UsageError) -> Verb {
    if let verb = Verb(rawValue: word) { return verb }
    let nearest = Suggestion.nearest(to: word, among: Verb.allCases.map(\.rawValue))
    throw UsageError(
      problem: "“\(word)” is not a command.",
      remedy: nearest.map { "Did you mean \($0)?" } ?? "Outbox --help lists the commands.")
  }

  private static func runOptions(_ parsed: Arguments, database: String) throws(UsageError) -> RunOptions {
    guard let server = try parsed.webAddress("--server") else {
      throw UsageError(
        problem: "No server was given.",
        remedy: "Start one with `Outbox serve`, and name it, for example: --server http://127.0.0.1:8025")
    }
    var options = RunOptions(database: database, server: server)
    options.width = try parsed.integer("--width", in: 1...1_000) ?? options.width
    options.pace = try parsed.number("--pace", in: 0...3_600).map { .seconds($0) } ?? options.pace
    options.grace = try parsed.number("--grace", in: 0...3_600).map { .seconds($0) } ?? options.grace
    options.stays = parsed.has("--stay")
    options.endsWithInput = parsed.has("--until-input-ends")
    return options
  }

  private static func serveOptions(_ parsed: Arguments) throws(UsageError) -> ServeOptions {
    var options = ServeOptions()
    options.port = try parsed.integer("--port", in: 0...65_535).map { UInt16($0) } ?? options.port
    options.log = parsed.value("--log") ?? options.log
    options.endsWithInput = parsed.has("--until-input-ends")
    options.failure = try parsed.number("--fail", in: 0...0.9) ?? options.failure
    options.seed = try parsed.integer("--seed", in: 0...UInt64.max) ?? options.seed
    return options
  }
}
