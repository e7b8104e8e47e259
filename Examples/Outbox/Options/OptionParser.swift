import ExampleSupport
import Foundation

/// Reads the command line.
enum OptionParser {
  private static let commands: KeyValuePairs<String, Arguments.Options> = [
    "enqueue": ["--database": "outbox.sqlite", "--help": nil],
    "run": [
      "--database": "outbox.sqlite", "--server": "http://127.0.0.1:8025", "--width": "4", "--pace": "0.5",
      "--grace": "5", "--stay": nil, "--help": nil,
    ],
    "digest": ["--database": "outbox.sqlite", "--help": nil],
    "status": ["--database": "outbox.sqlite", "--help": nil],
    "serve": ["--port": "8025", "--log": "received.jsonl", "--fail": "0.3", "--seed": "7", "--help": nil],
  ]

  /// What `arguments`, without the name of the program, ask for.
  static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
    guard let command = arguments.first else {
      throw UsageError(problem: "No command was given.", remedy: "For example: Outbox enqueue letters")
    }
    if ["--help", "-h", "help"].contains(command) { return .help }
    guard let options = commands.first(where: { $0.key == command })?.value else {
      let nearest = Suggestion.nearest(to: command, among: commands.map(\.key))
      throw UsageError(
        problem: "“\(command)” is not a command.",
        remedy: nearest.map { "Did you mean \($0)?" } ?? "Outbox --help lists the commands.")
    }
    let parsed = try Arguments(
      arguments.dropFirst(), options: options, command: command, help: "Outbox --help lists the options.")
    if parsed.has("--help") { return .help }
    let expected = command == "enqueue" ? 1 : 0
    if parsed.words.count > expected {
      throw UsageError(
        problem: "\(command) takes no “\(parsed.words[expected])”.", remedy: "Outbox --help lists what it takes.")
    }
    let database = parsed.value("--database") ?? RunOptions.defaultDatabase
    switch command {
    case "enqueue":
      guard let folder = parsed.words.first, !folder.isEmpty else {
        throw UsageError(
          problem: "No folder with messages was given.", remedy: "For example: Outbox enqueue letters")
      }
      return .enqueue(folder: folder, database: database)
    case "digest": return .digest(database: database)
    case "status": return .status(database: database)
    case "serve": return .serve(try serveOptions(parsed))
    default: return .run(try runOptions(parsed, database: database))
    }
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
    return options
  }

  private static func serveOptions(_ parsed: Arguments) throws(UsageError) -> ServeOptions {
    var options = ServeOptions()
    options.port = try parsed.integer("--port", in: 0...65_535).map { UInt16($0) } ?? options.port
    options.log = parsed.value("--log") ?? options.log
    options.failure = try parsed.number("--fail", in: 0...0.9) ?? options.failure
    options.seed = try parsed.integer("--seed", in: 0...UInt64.max) ?? options.seed
    return options
  }
}
