import Foundation

/// A task as a row of the table.
struct Row: Equatable, Sendable {
  var name: String
  var standing: Standing
  /// From 0 to 1; nil for what has none.
  var progress: Double?
  /// In seconds; nil if it has not started.
  var elapsed: TimeInterval?
  var note: String
}

/// The characters that pictures are made of.
struct Symbols: Equatable, Sendable {
  let icons: [Standing: Character]
  let full: Character
  let empty: Character
  let chosen: Character

  static let unicode = Symbols(
    icons: [
      .pending: "·", .ready: "○", .executing: "▶", .waiting: "◷", .held: "‖", .finished: "✔", .failed: "✘",
      .cancelled: "⊘",
    ], full: "█", empty: "░", chosen: "❯")

  static let ascii = Symbols(
    icons: [
      .pending: ".", .ready: "o", .executing: ">", .waiting: "?", .held: "|", .finished: "+", .failed: "!",
      .cancelled: "x",
    ], full: "#", empty: "-", chosen: ">")
}

/// The table of tasks as text.
struct OrderTable {
  var rows: [Row]
  var symbols: Symbols
  /// The place of the row that keys act on.
  var chosen: Int?
  /// Whether icons are in colour.
  var hasColors = false

  private static let barWidth = 10

  /// The heading and the rows, none wider than `width`, and no more of them than `height`: if there
  /// is no room for all, those around the chosen one.
  func lines(width: Int, height: Int = .max) -> [String] {
    let nameWidth = rows.map(\.name.count).max() ?? 0
    let heading =
      "    # " + pad("", 2) + pad("task", nameWidth + 2) + pad("state", 11) + pad("progress", Self.barWidth + 7)
      + pad("time", 8) + "note"
    let first = max(0, min((chosen ?? 0) - (height - 1) / 2, rows.count - (height - 1)))
    let shown = rows.enumerated().dropFirst(first).prefix(max(0, height - 1))
    return [clip(heading, width)] + shown.map { line($0, $1, nameWidth: nameWidth, width: width) }
  }

  private func line(_ index: Int, _ row: Row, nameWidth: Int, width: Int) -> String {
    let mark = index == chosen ? String(symbols.chosen) : " "
    let before = " \(mark)\(pad(left: "\(index + 1)", 3)) "
    let after =
      " " + pad(row.name, nameWidth + 2) + pad(row.standing.rawValue, 11) + pad(bar(row.progress), Self.barWidth + 7)
      + pad(row.elapsed.map(Self.time) ?? "", 8) + row.note
    let icon = symbols.icons[row.standing].map(String.init) ?? " "
    let text = clip(before + icon + after, width)
    // The colour takes no room, so it comes after the line was cut.
    guard hasColors, text.count > before.count else { return text }
    let color = Self.colors[row.standing] ?? "0"
    return before + "\u{1B}[\(color)m\(icon)\u{1B}[0m" + text.dropFirst(before.count + 1)
  }

  private static let colors: [Standing: String] = [
    .pending: "90", .ready: "36", .executing: "34", .waiting: "33", .held: "33", .finished: "32", .failed: "31",
    .cancelled: "35",
  ]

  private func bar(_ progress: Double?) -> String {
    guard let progress else { return "" }
    let done = Int(progress * Double(Self.barWidth))
    return String(repeating: symbols.full, count: done)
      + String(repeating: symbols.empty, count: Self.barWidth - done) + pad(left: "\(Int(progress * 100)) %", 6)
  }

  /// Seconds as they are read best.
  static func time(_ seconds: TimeInterval) -> String {
    if seconds < 60 { return String(format: "%.1f s", max(0, seconds)) }
    return String(format: "%d:%02d", Int(seconds) / 60, Int(seconds) % 60)
  }

  private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func pad(left text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private func clip(_ text: String, _ width: Int) -> String {
    let end = text.lastIndex { $0 != " " }.map { text.index(after: $0) } ?? text.startIndex
    return String(text[..<end].prefix(width))
  }
}
