import ExampleSupport

/// Reads the command line.
struct OptionParser {
  private var arguments: ArraySlice<String>
  private var options = Options()

  /// Every option, with an example of its value; nil for those that take none.
  private static let known: KeyValuePairs<String, String?> = [
    "--output": "my-order", "--mermaid": "order.mmd", "--title": "\"Summer\"", "--script": "order.script",
    "--fail": "0.2", "--seed": "7", "--sample-width": "1600", "--plain": nil, "--help": nil,
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
        options.photos += arguments
        break
      }
      if argument.hasPrefix("-") {
        try parseOption(argument)
      } else {
        options.photos.append(argument)
      }
    }
    guard options.photos.count > Options.mostPhotos else { return }
    throw UsageError(
      problem: "\(options.photos.count) photos were given.",
      remedy: "One order has up to \(Options.mostPhotos): make several orders, each with an --output of its own.")
  }

  private mutating func parseOption(_ argument: String) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts[0] == "-h" ? "--help" : parts[0]
    guard let (_, example) = Self.known.first(where: { $0.key == name }) else {
      let nearest = Suggestion.nearest(to: name, among: Self.known.map(\.key))
      throw UsageError(
        problem: "\(name) is not an option.",
        remedy: nearest.map { "Did you mean \($0)?" }
          ?? "PhotoOrder --help lists the options. A file of that name is given after --.")
    }
    if let example {
      let value = try value(of: name, inline: parts.count > 1 ? parts[1] : nil, example: example)
      try set(name, to: value, example: example)
    } else if parts.count > 1 {
      throw UsageError(problem: "\(name) takes no value, but got \"\(parts[1])\".", remedy: "Write \(name) alone.")
    } else if name == "--plain" {
      options.plain = true
    } else {
      options.showsHelp = true
    }
  }

  private mutating func value(of name: String, inline: String?, example: String) throws(UsageError) -> String {
    let needed = UsageError(problem: "\(name) needs a value.", remedy: "For example: \(name) \(example)")
    if let inline {
      guard inline.isEmpty else { return inline }
      throw needed
    }
    // A negative number is a wrong value and shall be told as one; everything else with a dash is the next option.
    guard let next = arguments.first, !next.isEmpty, !next.hasPrefix("--") else { throw needed }
    arguments.removeFirst()
    return next
  }

  private mutating func set(_ name: String, to value: String, example: String) throws(UsageError) {
    func wrong(_ remedy: String) -> UsageError {
      UsageError(
        problem: "\(name) cannot be \"\(value)\".", remedy: "\(remedy), for example: \(name) \(example)")
    }
    switch name {
    case "--output": options.output = value
    case "--mermaid": options.mermaid = value
    case "--title": options.title = value
    case "--script": options.script = value
    case "--fail":
      guard let number = Double(value), (0...1).contains(number) else { throw wrong("Give a number from 0 to 1") }
      options.failure = number
    case "--seed":
      guard let number = UInt64(value) else { throw wrong("Give a whole number from 0 on") }
      options.seed = number
    default:
      guard let number = Int(value), (4...10_000).contains(number) else {
        throw wrong("Give a whole number of pixels from 4 to 10000")
      }
      options.sampleWidth = number
    }
  }
}
