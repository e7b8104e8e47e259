import Foundation

/// Compares the package with the code that its users would otherwise write; see `Options.help`.
@main
enum Benchmarks {
  static func main() {
    let options: Options
    do {
      options = try Options(CommandLine.arguments.dropFirst())
    } catch {
      fail("\(error)\nTry --help.", status: 2)
    }
    do {
      switch options.mode {
      case .help: Output.write(Options.help)
      case .probe(let probe, let count): Output.write("\(try probe.measure(count))\n")
      case .list: Output.write(TextReport.list(rows(for: options)))
      case .measure: try run(options)
      }
    } catch {
      fail("\(error)", status: 1)
    }
  }

  private static func rows(for options: Options) -> [Row] {
    let rows = options.filter.map { text in Table.rows.filter { $0.matches(text) } } ?? Table.rows
    if rows.isEmpty { fail("no row contains '\(options.filter ?? "")'; see --list", status: 2) }
    return rows
  }

  private static func run(_ options: Options) throws {
    let report = try options.resultsFile.map(JSONReport.init(contentsOfFile:)) ?? measure(options)
    if options.write {
      let folder = URL(filePath: FileManager.default.currentDirectoryPath)
      try DocumentReport(results: report.rows, machine: report.machine).write(inFolder: folder)
      Output.writeError("Benchmarks: wrote Documentation/Benchmarks.md and README.md\n")
    }
    guard options.check else { return }
    let over = report.rows.filter { $0.verdict == .overBudget || !options.allowsKnown && $0.verdict == .knownMiss }
    if !over.isEmpty {
      fail("over budget: \(over.map { "\($0.section), \($0.name)" }.joined(separator: "; "))", status: 1)
    }
  }

  /// Measures the rows and prints them.
  private static func measure(_ options: Options) throws -> JSONReport {
    #if DEBUG
    Output.writeError("Benchmarks: this is a debug build, whose figures mean little; use swift run -c release\n")
    #endif
    let rows = rows(for: options)
    let machine = Machine(note: options.note)
    var harness = Harness(rounds: options.rounds, slack: options.slack, side: options.side)
    var harnessInFull = harness
    harness.seconds = options.seconds
    harnessInFull.seconds = max(harnessInFull.seconds, options.seconds)
    var text = TextReport()
    var results: [RowResult] = []
    if options.format == .text { Output.write(text.header(machine: machine)) }
    for row in rows {
      let result = try harness.measure(row)
      results.append(result)
      if options.format == .text { Output.write(text.line(for: result)) }
    }
    // Other work on the machine can disturb for minutes; a real slowdown is still there later.
    for _ in 0..<2 where options.check {
      for (index, row) in rows.enumerated() where results[index].verdict == .overBudget {
        results[index] = try harnessInFull.measure(row, roundFactor: 2)
        results[index].isRepeated = true
        if options.format == .text { Output.write(text.line(for: results[index])) }
      }
    }
    let report = JSONReport(machine: machine, rows: results)
    switch options.format {
    case .text: Output.write(TextReport.summary(of: results))
    case .json: Output.write(try report.document())
    }
    return report
  }

  private static func fail(_ message: String, status: Int32) -> Never {
    Output.writeError("Benchmarks: \(message)\n")
    exit(status)
  }
}
