/// A command line, taken apart: options with their values, and the words that are none.
package struct Arguments: Equatable, Sendable {
  /// The options that a program knows, each with an example of its value; nil for one that takes none.
  package typealias Options = KeyValuePairs<String, String?>

  /// What is no option, in its order.
  package private(set) var words: [String] = []
  private var values: [String: [String]] = [:]
  private var examples: [String: String] = [:]

  /// Takes a command line apart. A value follows its option, or stands behind it after `=`; `--` ends the options. A
  /// negative number is a word.
  ///
  /// - Parameters:
  ///   - arguments: the arguments, without the name of the program.
  ///   - options: what is known. `-h` is `--help`.
  ///   - program: what is called for help, such as `durable-queue list`.
  package init(_ arguments: some Sequence<String>, options: Options, program: String) throws(UsageError) {
    for case (let name, let example?) in options { examples[name] = example }
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-", Double(argument.prefix { $0 != "," }) == nil else {
        words.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0] == "-h" ? "--help" : parts[0]
      guard let option = options.first(where: { $0.key == name }) else {
        let nearest = Suggestion.nearest(to: name, among: options.map(\.key))
        throw UsageError(
          problem: "\(name) is not an option of \(program).",
          remedy: nearest.map { "Did you mean \($0)?" } ?? "\(program) --help lists the options.")
      }
      if let example = option.value {
        let value = parts.count > 1 ? parts[1] : rest.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
        guard let value, !value.isEmpty else {
          throw UsageError(problem: "\(name) needs a value.", remedy: "For example: \(name) \(example)")
        }
        if parts.count == 1 { rest.removeFirst() }
        values[name, default: []].append(value)
      } else if parts.count > 1 {
        throw UsageError(problem: "\(name) takes no value, but got “\(parts[1])”.", remedy: "Write \(name) alone.")
      } else {
        values[name, default: []].append("")
      }
    }
  }

  /// Whether an option was given.
  package func has(_ name: String) -> Bool { values[name] != nil }

  /// All values of an option, which may be given several times.
  package func values(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of an option; the last one if there are several.
  package func value(_ name: String) -> String? { values[name]?.last }

  /// The value of an option as a whole number; nil if it was not given.
  package func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = Int(value), range.contains(number) else {
      let limits =
        range.upperBound == .max ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
      throw wrong(name, "Give a whole number \(limits)")
    }
    return number
  }

  /// The value of an option as a number; nil if it was not given.
  package func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    guard let value = value(name) else { return nil }
    guard let number = Double(value), range.contains(number) else {
      throw wrong(name, "Give a number from \(Self.short(range.lowerBound)) to \(Self.short(range.upperBound))")
    }
    return number
  }

  /// What to throw for a value that can not be.
  package func wrong(_ name: String, _ remedy: String) -> UsageError {
    UsageError(
      problem: "\(name) can not be “\(value(name) ?? "")”.",
      remedy: "\(remedy), for example: \(name) \(examples[name] ?? "")")
  }

  private static func short(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
  }
}
