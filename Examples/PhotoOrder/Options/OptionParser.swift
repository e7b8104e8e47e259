import ExampleSupport

/// Reads the command line.
enum OptionParser {
  private static let known: CommandLineWords.Known = [
    "--output": "my-order", "--mermaid": "order.mmd", "--title": "\"Summer\"", "--script": "order.script",
    "--fail": "0.2", "--seed": "7", "--sample-width": "1600", "--plain": nil, "--help": nil,
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    var options = Options()
    var words = CommandLineWords(
      arguments, known: known, help: "PhotoOrder --help lists the options. A file of that name is given after --.")
    while let word = try words.next() {
      switch word {
      case .other(let photo): options.photos.append(photo)
      case .flag("--plain"): options.plain = true
      case .flag: options.showsHelp = true
      case .value(let value): try set(value, in: &options)
      }
    }
    if options.photos.count > Options.mostPhotos {
      throw UsageError(
        problem: "\(options.photos.count) photos were given.",
        remedy: "One order has up to \(Options.mostPhotos): make several orders, each with an --output of its own.")
    }
    return options
  }

  private static func set(_ value: OptionValue, in options: inout Options) throws(UsageError) {
    switch value.option {
    case "--output": options.output = value.text
    case "--mermaid": options.mermaid = value.text
    case "--title": options.title = value.text
    case "--script": options.script = value.text
    case "--fail":
      guard let number = Double(value.text), (0...1).contains(number) else {
        throw value.wrong("Give a number from 0 to 1")
      }
      options.failure = number
    case "--seed":
      guard let number = UInt64(value.text) else { throw value.wrong("Give a whole number from 0 on") }
      options.seed = number
    default:
      guard let number = Int(value.text), (4...10_000).contains(number) else {
        throw value.wrong("Give a whole number of pixels from 4 to 10000")
      }
      options.sampleWidth = number
    }
  }
}
