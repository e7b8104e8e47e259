import ExampleSupport

/// Reads the command line.
enum OptionParser {
  private static let known: Arguments.Options = [
    "--json": nil, "--offline": nil, "--strict": nil, "--help": nil, "--width": "8", "--per-host": "2",
    "--timeout": "15", "--retries": "2", "--retry-delay": "0.5", "--root": ".", "--timeline": "timeline.html",
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    let parsed = try Arguments(
      arguments, options: known, help: "LinkCheck --help lists the options. A file of that name is given after --.")
    var options = Options()
    options.showsHelp = parsed.has("--help")
    guard !options.showsHelp else { return options }
    options.paths = parsed.words
    options.json = parsed.has("--json")
    options.offline = parsed.has("--offline")
    options.strict = parsed.has("--strict")
    options.width = try parsed.integer("--width", in: 1...1_000) ?? options.width
    options.perHost = try parsed.integer("--per-host", in: 1...100) ?? options.perHost
    options.retries = try parsed.integer("--retries", in: 0...20) ?? options.retries
    options.timeout = try seconds("--timeout", in: 0.01...3_600, of: parsed) ?? options.timeout
    options.retryDelay = try seconds("--retry-delay", in: 0...60, of: parsed) ?? options.retryDelay
    options.root = parsed.value("--root")
    options.timeline = parsed.value("--timeline")
    if options.paths.isEmpty {
      throw UsageError(
        problem: "No file or folder to check was given.",
        remedy: "Name some, for example: LinkCheck README.md Documentation")
    }
    return options
  }

  private static func seconds(
    _ name: String, in range: ClosedRange<Double>, of parsed: Arguments
  ) throws(UsageError) -> Duration? {
    try parsed.number(name, in: range, meaning: "seconds").map { .seconds($0) }
  }
}
