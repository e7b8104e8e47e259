import ExampleSupport

/// Reads the command line.
enum OptionParser {
  private static let known: CommandLineWords.Known = [
    "--json": nil, "--offline": nil, "--strict": nil, "--help": nil, "--width": "8", "--per-host": "2",
    "--timeout": "15", "--retries": "2", "--retry-delay": "0.5", "--root": ".", "--timeline": "timeline.html",
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    var options = Options()
    var words = CommandLineWords(
      arguments, known: known, help: "LinkCheck --help lists the options. A file of that name is given after --.")
    while let word = try words.next() {
      switch word {
      case .other(let path): options.paths.append(path)
      case .flag("--json"): options.json = true
      case .flag("--offline"): options.offline = true
      case .flag("--strict"): options.strict = true
      case .flag: options.showsHelp = true
      case .value(let value): try set(value, in: &options)
      }
    }
    if options.paths.isEmpty, !options.showsHelp {
      throw UsageError(
        problem: "No file or folder to check was given.",
        remedy: "Name some, for example: LinkCheck README.md Documentation")
    }
    return options
  }

  private static func set(_ value: OptionValue, in options: inout Options) throws(UsageError) {
    switch value.option {
    case "--width": options.width = try value.number(in: 1...1_000)
    case "--per-host": options.perHost = try value.number(in: 1...100)
    case "--retries": options.retries = try value.number(in: 0...20)
    case "--timeout": options.timeout = try seconds(value, in: 0.01...3_600)
    case "--retry-delay": options.retryDelay = try seconds(value, in: 0...60)
    case "--timeline": options.timeline = value.text
    default: options.root = value.text
    }
  }

  private static func seconds(_ value: OptionValue, in range: ClosedRange<Double>) throws(UsageError) -> Duration {
    if let seconds = Double(value.text), range.contains(seconds) { return .seconds(seconds) }
    let lowest = range.lowerBound == 0 ? "0" : String(range.lowerBound)
    throw value.wrong("Give seconds, from \(lowest) to \(Int(range.upperBound))")
  }
}
