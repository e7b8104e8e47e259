import ExampleSupport
import Foundation

/// Reads the command line.
enum OptionParser {
  private static let known: Arguments.Options = [
    "--server": "http://127.0.0.1:8080", "--days": "7", "--rate": "5", "--seed": "2", "--date": "2026-03-29",
    "--token-uses": "5", "--timeline": "timeline.html", "--verbose": nil, "--help": nil,
  ]

  /// Makes the options of `given`, which does not begin with the name of the program.
  static func parse(_ given: some Sequence<String>) throws(UsageError) -> Options {
    let arguments = Array(given)
    // Without passwords, so that no message shows one.
    let parsed = try parts(arguments.map(HiddenPassword.hiding))
    // Requests need the whole address.
    let whole = try parts(arguments)
    var options = Options()
    options.showsHelp = parsed.has("--help")
    guard !options.showsHelp else { return options }
    options.cities = whole.words.map { $0.trimmingCharacters(in: .whitespaces) }
    options.verbose = parsed.has("--verbose")
    options.server = try parsed.webAddress("--server", in: whole)
    options.days = try parsed.integer("--days", in: 1...14) ?? options.days
    options.rate = try parsed.integer("--rate", in: 1...1_000) ?? options.rate
    options.tokenUses = try parsed.integer("--token-uses", in: 4...1_000_000) ?? options.tokenUses
    options.seed = try parsed.integer("--seed", in: 0...UInt64.max) ?? options.seed
    options.timeline = whole.value("--timeline")
    if let text = parsed.value("--date") {
      guard let date = Day(text) else { throw parsed.wrong("--date", "Give a day as year, month and day") }
      options.date = date
    }
    if options.cities.contains("") {
      throw UsageError(problem: "One of the cities has no name.", remedy: "Name it, for example: Forecast Lisbon")
    }
    if options.cities.isEmpty {
      throw UsageError(problem: "No city was given.", remedy: "Name some, for example: Forecast Lisbon Oslo")
    }
    return options
  }

  private static func parts(_ arguments: [String]) throws(UsageError) -> Arguments {
    try Arguments(
      arguments, options: known, shortNames: ["-v": "--verbose"], help: "Forecast --help lists the options.")
  }
}
