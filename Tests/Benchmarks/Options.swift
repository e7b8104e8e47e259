/// The options of the command line.
struct Options: Sendable {
  /// How the results are printed.
  enum Format: Sendable {
    case text, json
  }

  /// What the program does instead of measuring the table.
  enum Mode: Sendable, Equatable {
    case measure, list, help, probe(MemoryProbe, Int)
  }

  var mode = Mode.measure
  var format = Format.text
  /// Whether to write the documents that show the figures.
  var write = false
  /// The note on the machine for these documents, besides what the program detects.
  var note: String?
  /// The file of a `--json` run whose figures to use instead of measuring.
  var resultsFile: String?
  /// Whether a row over its budget makes the program fail.
  var check = false
  /// Whether to allow rows that are known to miss their budget, as long as they have not become
  /// worse.
  var allowsKnown = false
  /// The factor for budgets.
  var slack = 1.0
  /// Text that a row must contain.
  var filter: String?
  /// The rounds of every row, or nil to choose them by row.
  var rounds: Int?
  /// For how many seconds each side and its peer run, where a row does not say how often.
  var seconds = 2.2
  /// The side of comparisons that runs alone, or nil to compare.
  var side: Harness.OneSide?

  static let help = """
    USAGE: swift run -c release Benchmarks [OPTIONS]

    Runs the peers and this package in turn, and prints the time per operation, the ratio and the budget of each row.

    OPTIONS:
      --check              Fail with status 1 when a row is over its budget; such a row is measured up to three times.
      --allow-known        Do not fail for a row that is known to miss its budget, unless it has become worse.
      --slack FACTOR       Multiply the budgets by FACTOR, for noisy machines; not those of allocations.
      --filter TEXT        Measure only rows that contain TEXT.
      --rounds N           Take N samples of each side; without it, as many as fit into the seconds of a row.
      --seconds S          Measure each row for about S seconds, 2.2 without it; one that is over its budget then in full.
      --side here|peer     Run one side of the comparisons alone, to look at it with a profiler; nothing is compared.
      --list               Print the rows and their budgets, and measure nothing.
      --json               Print the results as JSON.
      --write              Write all figures into Documentation/Benchmarks.md, and those of the README into README.md.
      --note TEXT          Add TEXT to what is said of the machine, such as 'ext4 on a virtual disk'.
      --results FILE       Take the figures from FILE, which --json printed, and measure nothing.
      --probe KIND:COUNT   Measure memory in this process and print the bytes; the memory rows start themselves with it.
                           KIND is one of: \(MemoryProbe.allCases.map(\.rawValue).joined(separator: ", ")).
      --help               Print this text.

    """

  /// Reads the arguments after the program's name.
  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--check": check = true
      case "--allow-known": allowsKnown = true
      case "--slack": slack = try Self.number(after: argument, in: &rest, atLeast: .leastNonzeroMagnitude)
      case "--filter": filter = try Self.value(after: argument, in: &rest)
      case "--rounds": rounds = try Self.number(after: argument, in: &rest, atLeast: 1)
      case "--seconds": seconds = try Self.number(after: argument, in: &rest, atLeast: .leastNonzeroMagnitude)
      case "--side":
        let name = try Self.value(after: argument, in: &rest)
        side = Harness.OneSide(rawValue: name)
        if side == nil { throw UsageError(description: "--side needs 'here' or 'peer', not '\(name)'") }
      case "--list": mode = .list
      case "--json": format = .json
      case "--write": write = true
      case "--note": note = try Self.value(after: argument, in: &rest)
      case "--results": resultsFile = try Self.value(after: argument, in: &rest)
      case "--probe": mode = try Self.probe(try Self.value(after: argument, in: &rest))
      case "--help", "-h": mode = .help
      default: throw UsageError(description: "unknown option '\(argument)'")
      }
      // `--help` wins, whatever follows.
      if mode == .help { return }
    }
    if write, filter != nil || side != nil {
      throw UsageError(description: "--write needs all rows, and both of their sides")
    }
    if resultsFile != nil, !write, !check {
      throw UsageError(description: "--results needs --write or --check")
    }
  }

  private static func value(after option: String, in rest: inout ArraySlice<String>) throws(UsageError) -> String {
    guard let value = rest.popFirst() else { throw UsageError(description: "\(option) needs a value") }
    return value
  }

  private static func number<N: LosslessStringConvertible & Comparable>(
    after option: String, in rest: inout ArraySlice<String>, atLeast least: N
  ) throws(UsageError) -> N {
    let text = try value(after: option, in: &rest)
    guard let number = N(text), number >= least, "\(number)" != "inf" else {
      throw UsageError(
        description:
          "\(option) needs a \(N.self == Int.self ? "whole number from 1" : "positive number"), not '\(text)'")
    }
    return number
  }

  private static func probe(_ text: String) throws(UsageError) -> Mode {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let probe = MemoryProbe(rawValue: String(parts[0])), let count = Int(parts[1]), count > 0
    else {
      throw UsageError(description: "--probe needs KIND:COUNT with a known kind and a count from 1, not '\(text)'")
    }
    return .probe(probe, count)
  }
}

/// An invalid command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}
