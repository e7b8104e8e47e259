import Foundation

/// The figures as users read them, without budgets: all in `Documentation/Benchmarks.md`, a few in
/// `README.md`.
struct DocumentReport: Sendable {
  /// A row of the README.
  struct Highlight: Sendable {
    let section: String
    let name: String
    let against: String
    /// The measured work, for a reader who does not know the table.
    let title: String
    /// What it is compared with.
    let peer: String
  }

  let results: [RowResult]
  let machine: Machine

  /// Writes both documents, or none if one of them lacks a marker.
  func write(inFolder folder: URL) throws {
    let figures = try filled("Documentation/Benchmarks.md", in: folder) { part in
      try part == "machine" ? machineLine : table(ofSection: part)
    }
    for section in results.map(\.section) where !figures.names.contains(section) {
      throw BenchmarkError("\(figures.file.path) has no part '\(section)': add its markers, and a sentence about it")
    }
    let readme = try filled("README.md", in: folder) { part in
      guard part == "highlights" else { throw BenchmarkError("README.md has a part '\(part)' that is not known") }
      return try highlights()
    }
    for document in [figures, readme] {
      try Data(document.text.utf8).write(to: document.file, options: .atomic)
    }
  }

  private func filled(
    _ path: String, in folder: URL, _ part: (String) throws -> String
  ) throws -> (file: URL, text: String, names: [String]) {
    let file = folder.appending(path: path)
    let text: String
    do { text = try String(contentsOf: file, encoding: .utf8) } catch {
      throw BenchmarkError("\(path) cannot be read; --write runs in the folder of the package: \(error)")
    }
    let filled = try MarkedText(name: path, text: text).filled(part)
    return (file, filled.text, filled.names)
  }

  private var machineLine: String {
    "Measured on \(machine.date): \(machine), release build."
  }

  private func table(ofSection section: String) throws -> String {
    let rows = results.filter { $0.section == section }
    guard !rows.isEmpty else { throw BenchmarkError("no row was measured for the part '\(section)'") }
    // The rows of a group without peers have two columns.
    guard rows.contains(where: { $0.against != nil }) else {
      return Self.table(
        header: ["", "here"],
        rows: rows.map { [$0.name, Self.here($0)] })
    }
    return Self.table(
      header: ["", "compared with", "its time", "time here", "ratio"],
      rows: rows.map { row in
        [
          row.name, row.against ?? "", Figures.time(row.peerNanoseconds), Self.here(row),
          row.ratio == nil ? "" : Figures.figure(of: row),
        ]
      })
  }

  /// The package's time, or its steps, memory or allocations in rows that measure those.
  private static func here(_ row: RowResult) -> String {
    row.nanoseconds.map(Figures.time) ?? Figures.figure(of: row)
  }

  private func highlights() throws -> String {
    let rows = try Table.highlights.map { highlight in
      let result = results.first { row in
        row.section == highlight.section && row.name == highlight.name && row.against == highlight.against
      }
      guard let result, let ratio = result.ratio else {
        throw BenchmarkError("no row '\(highlight.section): \(highlight.name)' for README.md")
      }
      return [
        highlight.title, highlight.peer, Figures.time(result.peerNanoseconds), Figures.time(result.nanoseconds),
        Figures.ratio(ratio),
      ]
    }
    return Self.table(header: ["", "compared with", "its time", "time here", "ratio"], rows: rows)
      + "\n\nMeasured on \(machine.date): \(machine)."
  }

  /// A Markdown table whose first two columns, and in a table of two the first, are text.
  private static func table(header: [String], rows: [[String]]) -> String {
    let texts = header.count > 2 ? 2 : 1
    let rule = header.indices.map { $0 < texts ? "---" : "---:" }
    return (["|\(rule.joined(separator: "|"))|"] + rows.map(line)).reduce(line(header)) { "\($0)\n\($1)" }
  }

  private static func line(_ cells: [String]) -> String {
    "| \(cells.joined(separator: " | ")) |"
  }
}
