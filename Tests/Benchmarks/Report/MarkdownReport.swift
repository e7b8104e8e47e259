/// The table as it stands in the README.
enum MarkdownReport {
  /// A Markdown table of the results with a line on the machine above it.
  static func table(of results: [RowResult], machine: Machine) -> String {
    let header = """
      Medians on \(machine), release build. Times are per operation; in brackets, the middle half of the ratios.

      | row | against | peer | here | ratio | at most |
      |---|---|---:|---:|---:|---:|

      """
    return results.reduce(into: header) { table, result in
      let cells = [
        "\(result.section): \(result.name)", result.against ?? "", Figures.time(result.peerNanoseconds),
        Figures.time(result.nanoseconds), Figures.figure(of: result), Figures.budget(of: result),
      ]
      table += "| \(cells.joined(separator: " | ")) |\n"
    }
  }
}
