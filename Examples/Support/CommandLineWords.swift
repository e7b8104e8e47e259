/// Reads a command line word by word: options, values of options, and the rest.
///
/// A value comes after its option, or behind an equals sign. After `--` there are no options any more.
package struct CommandLineWords {
  /// One of them.
  package enum Word {
    /// An option that takes no value.
    case flag(String)
    /// An option with its value.
    case value(OptionValue)
    /// What is no option.
    case other(String)
  }

  /// The name of every option, with an example of its value; nil for those that take none.
  package typealias Known = KeyValuePairs<String, String?>

  private var words: ArraySlice<String>
  private var hasOptions = true
  private let known: Known
  private let shortNames: [String: String]
  private let help: String

  /// - Parameters:
  ///   - arguments: the command line, without the name of the program.
  ///   - known: the options.
  ///   - shortNames: the options that others stand for.
  ///   - help: what to do about an option that is none, and like none.
  package init(
    _ arguments: some Sequence<String>, known: Known, shortNames: [String: String] = ["-h": "--help"], help: String
  ) {
    words = Array(arguments)[...]
    self.known = known
    self.shortNames = shortNames
    self.help = help
  }

  /// The next one; nil at the end.
  package mutating func next() throws(UsageError) -> Word? {
    guard let word = words.popFirst() else { return nil }
    guard hasOptions, word.hasPrefix("-"), word != "-" else { return .other(word) }
    if word == "--" {
      hasOptions = false
      return try next()
    }
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = shortNames[parts[0]] ?? parts[0]
    guard let (_, example) = known.first(where: { $0.key == name }) else {
      let nearest = Suggestion.nearest(to: name, among: known.map(\.key))
      throw UsageError(problem: "\(name) is not an option.", remedy: nearest.map { "Did you mean \($0)?" } ?? help)
    }
    if let example { return .value(try value(of: name, parts.count > 1 ? parts[1] : nil, example)) }
    guard parts.count == 1 else {
      throw UsageError(problem: "\(name) takes no value, but got \"\(parts[1])\".", remedy: "Write \(name) alone.")
    }
    return .flag(name)
  }

  private mutating func value(
    of name: String, _ inline: String?, _ example: String
  ) throws(UsageError) -> OptionValue {
    // A negative number is a wrong value and shall be told as one; everything else with a dash is the next option.
    guard let text = inline ?? words.first.flatMap({ $0.hasPrefix("--") ? nil : $0 }), !text.isEmpty else {
      throw UsageError(problem: "\(name) needs a value.", remedy: "For example: \(name) \(example)")
    }
    if inline == nil { words.removeFirst() }
    return OptionValue(option: name, text: text, example: example)
  }
}

/// What an option was given.
package struct OptionValue {
  package let option: String
  package let text: String
  let example: String

  /// The value as a whole number.
  package func number(in range: ClosedRange<Int>) throws(UsageError) -> Int {
    if let number = Int(text), range.contains(number) { return number }
    throw wrong("Give a whole number from \(range.lowerBound) to \(range.upperBound)")
  }

  /// That it can not be this, and what to do.
  package func wrong(_ remedy: String) -> UsageError {
    UsageError(problem: "\(option) cannot be \"\(text)\".", remedy: "\(remedy), for example: \(option) \(example)")
  }
}
