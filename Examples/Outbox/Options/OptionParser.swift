import ExampleSupport
import Foundation

/// Parses the command line.
enum OptionParser {
  /// Parses arguments, given without the name of the program.
  static func parse(_ given: [String]) throws(UsageError) -> Invocation {
    // Without passwords, so that no message shows one.
    let arguments = given.map(HiddenPassword.hiding)
    guard let command = arguments.first else {
      throw UsageError(problem: "No command was given.", remedy: "For example: Outbox enqueue letters")
    }
    if ["--help", "-h", "help"].contains(command) {
      return .help(arguments.count > 1 ? try verb(arguments[1]) : nil)
    }
    let verb = try verb(command)
    let help = "Outbox \(command) --help lists the options."
    let parsed = try Arguments(arguments.dropFirst(), options: verb.options, command: command, help: help)
    // Opening and sending need the whole URLs.
    let whole = try Arguments(given.dropFirst(), options: verb.options, command: command, help: help)
    if parsed.has("--help") { return .help(verb) }
    let expected = verb == .enqueue ? 1 : 0
    if parsed.words.count > expected {
      throw UsageError(
        problem: "\(command) takes no “\(parsed.words[expected])”.",
        remedy: "Outbox \(command) --help lists what it takes.")
    }
    let database = try database(parsed, whole)
    switch verb {
    case .enqueue:
      guard let folder = whole.words.first, !folder.isEmpty else {
        throw UsageError(
          problem: "No folder with messages was given.", remedy: "For example: Outbox enqueue letters")
      }
      return .enqueue(folder: folder, database: database)
    case .digest: return .digest(database: database)
    case .status: return .status(database: database)
    case .serve: return .serve(try serveOptions(parsed))
    case .run: return .run(try runOptions(parsed, whole, database: database))
    }
  }

  private static func verb(_ word: String) throws(UsageError) -> Verb {
    if let verb = Verb(rawValue: word) { return verb }
    let nearest = Suggestion.nearest(to: word, among: Verb.allCases.map(\.rawValue))
    throw UsageError(
      problem: "“\(word)” is not a command.",
      remedy: nearest.map { "Did you mean \($0)?" } ?? "Outbox --help lists the commands.")
  }

  /// The place of the messages.
  private static func database(_ parsed: Arguments, _ whole: Arguments) throws(UsageError) -> Database {
    let schema = parsed.value("--schema")
    guard let url = whole.value("--store") else {
      if schema != nil {
        throw UsageError(
          problem: "--schema is for a server, and the messages are in a file.",
          remedy: "Leave it out, or name the server, for example: --store postgresql://app@db.example.org/shop")
      }
      return whole.value("--database").map(Database.file) ?? .usual
    }
    guard !parsed.has("--database") else {
      throw UsageError(problem: "Both --database and --store were given.", remedy: "Give one of the two.")
    }
    guard let scheme = url.firstMatch(of: /^([A-Za-z]+):\/\//)?.1,
      ["postgresql", "postgres"].contains(scheme.lowercased())
    else { throw parsed.wrong("--store", "Give the URL of a PostgreSQL server, or a file with --database") }
    if let schema, schema.utf8.count > 63 || schema.contains("$$") || schema.contains(where: \.isNewline) {
      throw parsed.wrong("--schema", "Give a name of 63 bytes at most, without line breaks and $$")
    }
    return .server(url: scheme.lowercased() + url.dropFirst(scheme.count), schema: schema ?? Database.usualSchema)
  }

  private static func runOptions(
    _ parsed: Arguments, _ whole: Arguments, database: Database
  ) throws(UsageError) -> RunOptions {
    guard let server = try parsed.webAddress("--server", in: whole) else {
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
