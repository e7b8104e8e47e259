import ExampleSupport

/// Reads the command line.
struct OptionParser {
  private var arguments: ArraySlice<String>
  private var options = Options()

  /// Every option, with whether it takes a value.
  private static let known: KeyValuePairs = [
    "--json": false, "--offline": false, "--strict": false, "--help": false,
    "--width": true, "--per-host": true, "--timeout": true, "--retries": true, "--retry-delay": true, "--root": true,
    "--timeline": true,
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    var parser = OptionParser(arguments: Array(arguments)[...])
    try parser.parse()
    return parser.options
  }

  private init(arguments: ArraySlice<String>) {
    self.arguments = arguments
  }

  private mutating func parse() throws(UsageError) {
    while let argument = arguments.popFirst() {
      if argument == "--" {
        options.paths += arguments
        break
      }
      if argument.hasPrefix("-"), argument != "-" {
        try parseOption(argument)
      } else {
        options.paths.append(argument)
      }
    }
    guard options.paths.isEmpty, !options.showsHelp else { return }
    throw UsageError(
      problem: "No file or folder to check was given.",
      remedy: "Name some, for example: LinkCheck README.md Documentation")
  }

  private mutating func parseOption(_ argument: String) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts[0] == "-h" ? "--help" : parts[0]
    guard let takesValue = Self.known.first(where: { $0.key == name })?.value else {
      let nearest = Suggestion.nearest(to: name, among: Self.known.map(\.key))
      throw UsageError(
        problem: "\(name) is not an option.",
        remedy: nearest.map { "Did you mean \($0)?" }
          ?? "LinkCheck --help lists the options. A file of that name is given after --.")
    }
    if takesValue {
      try set(name, to: try value(of: name, inline: parts.count > 1 ? parts[1] : nil))
    } else if parts.count > 1 {
      throw UsageError(problem: "\(name) takes no value, but got \"\(parts[1])\".", remedy: "Write \(name) alone.")
    } else {
      set(name)
    }
  }

  private mutating func value(of name: String, inline: String?) throws(UsageError) -> String {
    if let inline { return inline }
    // A negative number is a wrong value and shall be told as one; everything else with a dash is the next option.
    if let next = arguments.first, !next.hasPrefix("--") {
      arguments.removeFirst()
      return next
    }
    throw UsageError(problem: "\(name) needs a value.", remedy: "For example: \(name) \(Self.example(for: name))")
  }

  private mutating func set(_ name: String) {
    switch name {
    case "--json": options.json = true
    case "--offline": options.offline = true
    case "--strict": options.strict = true
    default: options.showsHelp = true
    }
  }

  private mutating func set(_ name: String, to value: String) throws(UsageError) {
    switch name {
    case "--width": options.width = try number(value, for: name, in: 1...1_000)
    case "--per-host": options.perHost = try number(value, for: name, in: 1...100)
    case "--retries": options.retries = try number(value, for: name, in: 0...20)
    case "--timeout": options.timeout = try seconds(value, for: name, in: 0.01...3_600)
    case "--retry-delay": options.retryDelay = try seconds(value, for: name, in: 0...60)
    case "--timeline": options.timeline = value
    default: options.root = value
    }
  }

  private func number(_ value: String, for name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    if let number = Int(value), range.contains(number) { return number }
    throw UsageError(
      problem: "\(name) cannot be \"\(value)\".",
      remedy: "Give a whole number from \(range.lowerBound) to \(range.upperBound),"
        + " for example: \(name) \(Self.example(for: name))")
  }

  private func seconds(
    _ value: String, for name: String, in range: ClosedRange<Double>
  ) throws(UsageError) -> Duration {
    if let seconds = Double(value), range.contains(seconds) { return .seconds(seconds) }
    let lowest = range.lowerBound == 0 ? "0" : String(range.lowerBound)
    throw UsageError(
      problem: "\(name) cannot be \"\(value)\".",
      remedy: "Give seconds, from \(lowest) to \(Int(range.upperBound)),"
        + " for example: \(name) \(Self.example(for: name))")
  }

  private static func example(for name: String) -> String {
    switch name {
    case "--root": "."
    case "--timeout": "15"
    case "--retry-delay": "0.5"
    case "--timeline": "timeline.html"
    case "--width": "8"
    default: "2"
    }
  }
}
