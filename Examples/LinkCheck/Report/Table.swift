/// Rows of text in columns that line up.
struct Table {
  private var rows: [[String]] = []

  /// A cell that is longer pushes the rest of its own row aside, but not the whole column.
  private let longest = 60

  mutating func add(_ cells: String...) {
    rows.append(cells)
  }

  /// The rows, each ended with a newline and indented by two spaces.
  var text: String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.compactMap { column < $0.count ? $0[column].count : nil }.filter { $0 <= longest }.max() ?? 0
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        column == row.count - 1 ? cell : cell + String(repeating: " ", count: max(0, widths[column] - cell.count))
      }
      return "  " + cells.joined(separator: "  ") + "\n"
    }.joined()
  }
}
