import ExampleSupport
import Foundation

/// Reads the command line.
struct OptionParser {
  private var arguments: ArraySlice<String>
  private var options = Options()

  /// Every option, with an example of its value if it takes one.
  private static let known: KeyValuePairs = [
    "--server": "http://127.0.0.1:8080", "--days": "7", "--rate": "5", "--seed": "2", "--date": "2026-03-29",
    "--token-uses": "5", "--timeline": "timeline.html", "--verbose": "", "--help": "",
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
        options.cities += arguments
        break
      }
      if argument.hasPrefix("-") {
        try parseOption(argument)
      } else {
        options.cities.append(argument)
      }
    }
    guard !options.showsHelp else { return }
    options.cities = options.cities.map { $0.trimmingCharacters(in: .whitespaces) }
    if options.cities.contains("") {
      throw UsageError(problem: "One of the cities has no name.", remedy: "Name it, for example: Forecast Lisbon")
    }
    guard options.cities.isEmpty else { return }
    throw UsageError(problem: "No city was given.", remedy: "Name some, for example: Forecast Lisbon Oslo")
  }

  private mutating func parseOption(_ argument: String) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = ["-h": "--help", "-v": "--verbose"][parts[0]] ?? parts[0]
    guard let example = Self.known.first(where: { $0.key == name })?.value else {
      let nearest = Suggestion.nearest(to: name, among: Self.known.map(\.key))
      throw UsageError(
        problem: "\(name) is not an option.",
        remedy: nearest.map { "Did you mean \($0)?" } ?? "Forecast --help lists the options.")
    }
    let remedy = "For example: \(name) \(example)"
    if !example.isEmpty {
      let next = parts.count > 1 ? parts[1] : arguments.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
      guard let next else { throw UsageError(problem: "\(name) needs a value.", remedy: remedy) }
      if parts.count == 1 { arguments.removeFirst() }
      try set(name, to: next, remedy)
    } else if parts.count > 1 {
      throw UsageError(problem: "\(name) takes no value, but got \"\(parts[1])\".", remedy: "Write \(name) alone.")
    } else if name == "--verbose" {
      options.verbose = true
    } else {
      options.showsHelp = true
    }
  }

  private mutating func set(_ name: String, to value: String, _ remedy: String) throws(UsageError) {
    switch name {
    case "--days": options.days = try number(value, for: name, in: 1...14, remedy)
    case "--rate": options.rate = try number(value, for: name, in: 1...1_000, remedy)
    case "--token-uses": options.tokenUses = try number(value, for: name, in: 4...1_000_000, remedy)
    case "--seed":
      guard let seed = UInt64(value) else {
        throw UsageError(problem: "--seed cannot be \"\(value)\".", remedy: "Give a whole number. \(remedy)")
      }
      options.seed = seed
    case "--date":
      guard let date = Day(value) else {
        throw UsageError(
          problem: "--date cannot be \"\(value)\".", remedy: "Give a day as year, month and day. \(remedy)")
      }
      options.date = date
    case "--server":
      guard let url = URL(string: value), ["http", "https"].contains(url.scheme?.lowercased()),
        url.host?.isEmpty == false
      else {
        throw UsageError(
          problem: "--server cannot be \"\(value)\".", remedy: "Give an http or https address. \(remedy)")
      }
      options.server = url
    default:
      guard !value.isEmpty else { throw UsageError(problem: "\(name) names no file.", remedy: remedy) }
      options.timeline = value
    }
  }

  private func number(
    _ value: String, for name: String, in range: ClosedRange<Int>, _ remedy: String
  ) throws(UsageError) -> Int {
    if let number = Int(value), range.contains(number) { return number }
    throw UsageError(
      problem: "\(name) cannot be \"\(value)\".",
      remedy: "Give a whole number from \(range.lowerBound) to \(range.upperBound). \(remedy)")
  }
}
