/// The table for a terminal, a line at a time.
struct TextReport: Sendable {
  private static let widths = [44, 31, 10, 10, 18, 16]
  private var section: String?

  /// The first lines.
  func header(machine: Machine) -> String {
    "\(machine)\nmedians; times are per operation, (…) is the middle half of the ratios\n\n"
      + Self.columns(["", "against", "peer", "here", "ratio", "at most", ""])
  }

  /// A row, after the name of its section if that is new.
  mutating func line(for result: RowResult) -> String {
    let title = result.section == section ? "" : "\(result.section)\n"
    section = result.section
    let verdict =
      switch result.verdict {
      case .noBudget: ""
      case .withinAim: "ok, aim met"
      case .withinBudget: "ok"
      case .knownMiss: "OVER, as is known (up to \(Figures.decimal(result.known ?? 0, 2)))"
      case .overBudget: "OVER"
      }
    return title
      + Self.columns([
        "  \(result.name)", result.against ?? "", Figures.time(result.peerNanoseconds),
        Figures.time(result.nanoseconds), Figures.figure(of: result), Figures.budget(of: result),
        verdict + (result.isRepeated ? ", once more" : ""),
      ])
  }

  /// The last line.
  static func summary(of results: [RowResult]) -> String {
    let budgeted = results.filter { $0.verdict != .noBudget }
    guard !budgeted.isEmpty else { return "" }
    let over = budgeted.filter { $0.verdict == .overBudget || $0.verdict == .knownMiss }
    let slack = results.map(\.slack).first { $0 != 1 }.map { " (multiplied by \($0))" } ?? ""
    return "\n\(budgeted.count - over.count) of \(budgeted.count) rows within their budget\(slack)\n"
  }

  /// The rows without figures.
  static func list(_ rows: [Row]) -> String {
    var section: String?
    return rows.map { row in
      let title = row.section == section ? "" : "\(row.section)\n"
      section = row.section
      let budget = row.budget.map { Figures.budget($0.limit, aim: $0.aim, in: row.measurement.unit) }
      return title + columns(["  \(row.name)", row.against ?? "", budget ?? ""])
    }.joined()
  }

  private static func columns(_ texts: [String]) -> String {
    var line = ""
    for (text, width) in zip(texts, widths + [0]) {
      line += text + String(repeating: " ", count: max(1, width - text.count))
    }
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }
}
