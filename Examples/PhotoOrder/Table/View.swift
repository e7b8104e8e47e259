import Foundation

/// Where people see how the order goes.
protocol View: AnyObject {
  /// Tells of something that happened.
  func say(_ line: String)
  /// Shows the table as it is asked for.
  func show(_ table: OrderTable)
  /// The table has changed.
  func update(_ table: OrderTable, title: String)
  /// What was drawn is not where it was: the window has another size, or something else was on the
  /// screen.
  func startAnew()
  /// Nothing changes from now on; lines follow.
  func end()
}

/// Lines, for files and pipes.
final class PlainView: View {
  private let output: Output

  init(_ output: Output) {
    self.output = output
  }

  func say(_ line: String) {
    output.write(line + "\n")
  }

  func show(_ table: OrderTable) {
    output.write(table.lines(width: 120).joined(separator: "\n") + "\n")
  }

  func update(_ table: OrderTable, title: String) {}

  func startAnew() {}

  func end() {}
}

/// A table that is drawn again and again in the same place.
final class LiveView: View {
  private let output: Output
  private let keys: [String]
  private let size: () -> (width: Int, height: Int)
  private var message = ""
  private var drawn: [String] = []
  /// How many of the drawn lines are about keys.
  private var keyCount = 0

  /// - Parameter keys: the lines below the table that tell which keys there are.
  init(_ output: Output, keys: [String], size: @escaping () -> (width: Int, height: Int) = { Terminal.size }) {
    self.output = output
    self.keys = keys
    self.size = size
  }

  func say(_ line: String) {
    message = line
  }

  func show(_ table: OrderTable) {}

  func update(_ table: OrderTable, title: String) {
    let (width, height) = size()
    // One less each: a character in the last column, or a line feed on the last line, may move
    // everything.
    func clip(_ text: String) -> String { String(text.prefix(width - 1)) }
    let tail = [clip(message)] + (height < 12 ? [] : keys.map(clip))
    let lines =
      [clip(title)] + table.lines(width: width - 1, height: max(2, height - 2 - tail.count)) + tail
    draw(lines)
    keyCount = tail.count - 1
  }

  func startAnew() {
    output.write("\u{1B}[2J\u{1B}[H")
    drawn = []
  }

  func end() {
    // The keys are no longer shown.
    guard !drawn.isEmpty else { return }
    draw(Array(drawn.dropLast(keyCount)))
    drawn = []
  }

  /// Draws over what was drawn before. Has the terminal cut lines that are too long, which would
  /// else take a second line: a character may be two columns wide.
  private func draw(_ lines: [String]) {
    guard lines != drawn else { return }
    var text = drawn.isEmpty ? "" : "\r\u{1B}[\(drawn.count)A"
    text += "\u{1B}[?7l"
    for line in lines { text += line + "\u{1B}[K\n" }
    output.write(text + "\u{1B}[J\u{1B}[?7h")
    drawn = lines
  }
}
