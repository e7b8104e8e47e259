import CompositeOperations

/// The lines at the end of a terminal that are redrawn, and what to send to change them.
struct TerminalScreen {
  private(set) var lines: [String] = []

  private static let escape = "\u{1B}["

  /// Shows other lines. The cursor is hidden while there are any.
  mutating func draw(_ new: [String]) -> String {
    guard new != lines else { return "" }
    var text = ""
    if lines.isEmpty { text += TerminalScreen.escape + "?25l" }
    text += toTop + block(new)
    if new.isEmpty { text += TerminalScreen.escape + "?25h" }
    lines = new
    return text
  }

  /// Puts a permanent line above the others.
  mutating func print(_ line: String) -> String {
    guard !lines.isEmpty else { return line + "\n" }
    return toTop + TerminalScreen.escape + "J" + line + "\n" + block(lines)
  }

  /// Removes the lines.
  mutating func finish() -> String { draw([]) }

  private var toTop: String { lines.isEmpty ? "" : "\r" + TerminalScreen.escape + "\(lines.count)A" }

  /// Has the terminal cut lines that are too long, which would else take a second line.
  private func block(_ lines: [String]) -> String {
    let escape = TerminalScreen.escape
    let body = lines.map { "\(escape)2K\($0)\n" }.joined()
    return (lines.isEmpty ? "" : escape + "?7l") + body + escape + "J" + (lines.isEmpty ? "" : escape + "?7h")
  }
}
