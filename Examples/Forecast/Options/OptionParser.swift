import ExampleSupport
import Foundation

/// Reads the command line.
enum OptionParser {
  private static let known: CommandLineWords.Known = [
    "--server": "http://127.0.0.1:8080", "--days": "7", "--rate": "5", "--seed": "2", "--date": "2026-03-29",
    "--token-uses": "5", "--timeline": "timeline.html", "--verbose": nil, "--help": nil,
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    var options = Options()
    var words = CommandLineWords(
      arguments, known: known, shortNames: ["-h": "--help", "-v": "--verbose"],
      help: "Forecast --help lists the options.")
    while let word = try words.next() {
      switch word {
      case .other(let city): options.cities.append(city.trimmingCharacters(in: .whitespaces))
      case .flag("--verbose"): options.verbose = true
      case .flag: options.showsHelp = true
      case .value(let value): try set(value, in: &options)
      }
    }
    guard !options.showsHelp else { return options }
    if options.cities.contains("") {
      throw UsageError(problem: "One of the cities has no name.", remedy: "Name it, for example: Forecast Lisbon")
    }
    if options.cities.isEmpty {
      throw UsageError(problem: "No city was given.", remedy: "Name some, for example: Forecast Lisbon Oslo")
    }
    return options
  }

  private static func set(_ value: OptionValue, in options: inout Options) throws(UsageError) {
    switch value.option {
    case "--days": options.days = try value.number(in: 1...14)
    case "--rate": options.rate = try value.number(in: 1...1_000)
    case "--token-uses": options.tokenUses = try value.number(in: 4...1_000_000)
    case "--seed":
      guard let seed = UInt64(value.text) else { throw value.wrong("Give a whole number") }
      options.seed = seed
    case "--date":
      guard let date = Day(value.text) else { throw value.wrong("Give a day as year, month and day") }
      options.date = date
    case "--server":
      guard let url = URL(string: value.text), ["http", "https"].contains(url.scheme?.lowercased()),
        url.host?.isEmpty == false
      else { throw value.wrong("Give an http or https address") }
      options.server = url
    default: options.timeline = value.text
    }
  }
}
