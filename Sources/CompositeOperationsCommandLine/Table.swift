/// Rows of text in columns that line up.
package struct Table {
  /// The side on which the cells of a column are aligned.
  package enum Side { case left, right }

  private var rows: [[String]] = []
  private let sides: [Side]
  private let indentation: String

  /// A longer cell moves the rest of its own row, but not the whole column.
  private let longest = 60

  /// Makes a table without rows.
  ///
  /// - Parameters:
  ///   - sides: the sides of the first columns; all others are aligned on the left.
  ///   - indentation: the beginning of each line.
  package init(sides: [Side] = [], indentation: String = "  ") {
    self.sides = sides
    self.indentation = indentation
  }

  package mutating func add(_ cells: String...) {
    add(cells)
  }

  package mutating func add(_ cells: [String]) {
    rows.append(cells)
  }

  /// The rows, each ended with a newline and indented.
  package var text: String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.compactMap { column < $0.count ? $0[column].count : nil }.filter { $0 <= longest }.max() ?? 0
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        let gap = String(repeating: " ", count: max(0, widths[column] - cell.count))
        if column < sides.count, sides[column] == .right { return gap + cell }
        // No spaces at the end of a line.
        return row[(column + 1)...].allSatisfy(\.isEmpty) ? cell : cell + gap
      }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return indentation + line + "\n"
    }.joined()
  }
}
