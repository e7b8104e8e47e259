import ExampleSupport

/// Reads the command line.
enum OptionParser {
  private static let known: Arguments.Options = [
    "--output": "my-order", "--mermaid": "order.mmd", "--title": "\"Summer\"", "--script": "order.script",
    "--fail": "0.2", "--seed": "7", "--sample-width": "1600", "--plain": nil, "--help": nil,
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    let parsed = try Arguments(
      arguments, options: known, help: "PhotoOrder --help lists the options. A file of that name is given after --.")
    var options = Options()
    options.showsHelp = parsed.has("--help")
    guard !options.showsHelp else { return options }
    options.photos = parsed.words
    options.plain = parsed.has("--plain")
    options.output = parsed.value("--output") ?? options.output
    options.mermaid = parsed.value("--mermaid")
    options.title = parsed.value("--title") ?? options.title
    options.script = parsed.value("--script")
    options.failure = try parsed.number("--fail", in: 0...1) ?? options.failure
    options.seed = try parsed.integer("--seed", in: 0...UInt64.max)
    options.sampleWidth =
      try parsed.integer("--sample-width", in: 4...10_000, meaning: "a whole number of pixels") ?? options.sampleWidth
    if options.photos.count > Options.mostPhotos {
      throw UsageError(
        problem: "\(options.photos.count) photos were given.",
        remedy: "One order has up to \(Options.mostPhotos): make several orders, each with an --output of its own.")
    }
    return options
  }
}
