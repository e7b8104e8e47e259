import Foundation

/// A parsed command line: options with their values, and the other words.
package struct Arguments: Equatable, Sendable {
  /// The options that a program knows, each with an example of its value; nil for an option without
  /// a value.
  package typealias Options = KeyValuePairs<String, String?>

  /// The words that are not options, in order.
  package private(set) var words: [String] = []
  private var values: [String: [String]] = [:]
  private var examples: [String: String] = [:]

  /// Parses a command line. A value follows its option, or stands after it and `=`; `--` ends the
  /// options. A negative number is a word.
  ///
  /// - Parameters:
  ///   - arguments: the arguments, without the name of the program.
  ///   - options: the options that are known.
  ///   - shortNames: short names and the options that they stand for; `-h` is always `--help`.
  ///   - command: the command that has the options; nil in a program without commands.
  ///   - help: the remedy for an unknown option that resembles no known one.
  package init(
    _ arguments: some Sequence<String>, options: Options, shortNames: [String: String] = [:], command: String? = nil,
    help: String
  ) throws(UsageError) {
    for case (let name, let example?) in options { examples[name] = example }
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-", !Self.isNegativeNumber(argument) else {
        words.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0] == "-h" ? "--help" : shortNames[parts[0]] ?? parts[0]
      guard let option = options.first(where: { $0.key == name }) else {
        let nearest = Suggestion.nearest(to: name, among: options.map(\.key))
        throw UsageError(
          problem: "\(name) is not an option\(command.map { " of \($0)" } ?? "").",
          remedy: nearest.map { "Did you mean \($0)?" } ?? help)
      }
      if let example = option.value {
        // A negative number may be a wrong value, and is reported as one.
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

  /// Such as `-5`, `-0.5` and `-5,3`, and not `-inf`.
  private static func isNegativeNumber(_ argument: String) -> Bool {
    guard let first = argument.dropFirst().first, first.isASCII, first.isNumber || first == "." else { return false }
    return Double(argument.prefix { $0 != "," }) != nil
  }

  /// Whether an option was given.
  package func has(_ name: String) -> Bool { values[name] != nil }

  /// All values of an option, which may be given several times.
  package func values(_ name: String) -> [String] { values[name] ?? [] }

  /// The value of an option; the last value if there are several.
  package func value(_ name: String) -> String? { values[name]?.last }

  /// The error for a value that is not allowed.
  package func wrong(_ name: String, _ remedy: String) -> UsageError {
    UsageError(
      problem: "\(name) cannot be “\(value(name) ?? "")”.",
      remedy: "\(remedy), for example: \(name) \(examples[name] ?? "")")
  }
}

extension Arguments {
  /// The value of an option as a whole number; nil if it was not given.
  ///
  /// - Parameters:
  ///   - name: the option.
  ///   - range: the allowed values.
  ///   - meaning: what the value is, for the error about another one.
  package func integer<Number: FixedWidthInteger & Sendable>(
    _ name: String, in range: ClosedRange<Number>, meaning: String = "a whole number"
  ) throws(UsageError) -> Number? {
    guard let value = value(name) else { return nil }
    guard let number = Number(value), range.contains(number) else {
      let limits = range.upperBound == .max ? "on" : "to \(range.upperBound)"
      throw wrong(name, "Give \(meaning) from \(range.lowerBound) \(limits)")
    }
    return number
  }

  /// The value of an option as a number; nil if it was not given.
  ///
  /// - Parameters:
  ///   - name: the option.
  ///   - range: the allowed values.
  ///   - meaning: what the value is, for the error about another one.
  package func number(
    _ name: String, in range: ClosedRange<Double>, meaning: String = "a number"
  ) throws(UsageError) -> Double? {
    guard let value = value(name) else { return nil }
    guard let number = Double(value), range.contains(number) else {
      throw wrong(name, "Give \(meaning) from \(Self.short(range.lowerBound)) to \(Self.short(range.upperBound))")
    }
    return number
  }

  /// The value of an option as the address of a server; nil if it was not given.
  package func webAddress(_ name: String) throws(UsageError) -> URL? {
    guard let value = value(name) else { return nil }
    guard let url = URL(string: value), ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false
    else { throw wrong(name, "Give an http or https address") }
    return url
  }

  /// The value of an option as an http or https address, with its password; nil if it was not
  /// given.
  ///
  /// - Parameter whole: the same arguments with passwords. These have none, so that errors show
  ///   none.
  package func webAddress(_ name: String, in whole: Arguments) throws(UsageError) -> URL? {
    guard let shown = try webAddress(name) else { return nil }
    guard let url = whole.value(name).flatMap({ URL(string: $0) }),
      (url.scheme, url.host, url.port) == (shown.scheme, shown.host, shown.port)
    else { throw wrong(name, "Write # / ? and @ in a password as %23 %2F %3F and %40") }
    return url
  }

  private static func short(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
  }
}

/// An error in a command line, or in a file that it names: what is wrong, and what to do.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  /// The exit status that says so: `EX_USAGE`.
  package static let exitStatus: Int32 = 64

  package let problem: String
  package let remedy: String

  package init(problem: String, remedy: String) {
    self.problem = problem
    self.remedy = remedy
  }

  package var description: String { "\(problem)\n\(remedy)" }
}
