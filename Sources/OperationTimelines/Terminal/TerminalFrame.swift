import CompositeOperations

/// What to show of the tracked operations at one moment.
struct TerminalSnapshot: Equatable, Sendable {
  /// One operation.
  struct Row: Equatable, Sendable {
    var depth = 0
    var title: String
    /// The fraction of it that is done; nil if that is unknown.
    var fraction: Double?
    /// How many of its children are done.
    var counts: Counts?
    /// How long it has run; nil if it has not started.
    var elapsed: Duration?
  }

  struct Counts: Equatable, Sendable {
    var done: Int
    var total: Int
  }

  /// The operations, each followed by the operations inside of it.
  var rows: [Row] = []
  /// How many rows are left out.
  var hiddenCount = 0
  /// The number of the spinner's picture.
  var tick = 0
}

/// The characters to draw with.
struct TerminalTheme: Sendable {
  let full: Character
  let empty: Character
  let mark: Character
  let spinner: [Character]
  let success: Character
  let failure: Character
  let cancelled: Character

  static let unicode = TerminalTheme(
    full: "█", empty: "░", mark: "…", spinner: Array("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"), success: "✓", failure: "✗", cancelled: "–")
  static let ascii = TerminalTheme(
    full: "#", empty: ".", mark: "~", spinner: Array("|/-\\"), success: "+", failure: "x", cancelled: "-")
}

/// Makes the lines of text that show a snapshot.
struct TerminalFrame {
  let theme: TerminalTheme
  /// The number of columns of the terminal.
  let width: Int

  private static let longestBar = 30
  private static let shortestBar = 5

  /// The lines. None fills the width of the terminal, which might begin a new line then.
  func lines(of snapshot: TerminalSnapshot) -> [String] {
    let usable = max(1, width - 1)
    let names = snapshot.rows.map { row in
      String(repeating: "  ", count: row.depth) + HarmlessText.line(row.title)
    }
    let notes = snapshot.rows.map(note)
    let noteWidth = notes.map(TerminalText.width).max() ?? 0
    // The sign and the gaps between the columns.
    let rest = max(0, usable - noteWidth - 5)
    let wanted = names.map(TerminalText.width).max() ?? 0
    let nameWidth = min(wanted, max(rest - TerminalFrame.longestBar, rest / 2))
    let barWidth = min(TerminalFrame.longestBar, rest - nameWidth)
    var lines = zip(snapshot.rows, zip(names, notes)).map { row, texts in
      var line = "\(sign(row, snapshot.tick)) " + TerminalText.fitted(texts.0, to: nameWidth, mark: theme.mark)
      if barWidth >= TerminalFrame.shortestBar { line += " " + bar(row, barWidth) }
      return TerminalText.cut(line + "  " + texts.1, to: usable, mark: theme.mark)
    }
    if snapshot.hiddenCount > 0 {
      lines.append(TerminalText.cut("  \(theme.mark) and \(snapshot.hiddenCount) more", to: usable, mark: theme.mark))
    }
    return lines
  }

  private func sign(_ row: TerminalSnapshot.Row, _ tick: Int) -> Character {
    row.elapsed == nil ? " " : theme.spinner[tick % theme.spinner.count]
  }

  private func bar(_ row: TerminalSnapshot.Row, _ width: Int) -> String {
    guard let fraction = row.fraction else { return String(repeating: " ", count: width) }
    let filled = min(width, max(0, Int(fraction * Double(width))))
    return String(repeating: theme.full, count: filled) + String(repeating: theme.empty, count: width - filled)
  }

  private func note(_ row: TerminalSnapshot.Row) -> String {
    guard let elapsed = row.elapsed else { return "waiting" }
    var parts: [String] = []
    if let fraction = row.fraction {
      // 0.29 * 100 is a little less than 29. 100 stands for all of it alone.
      let percent = "\(min(Int(fraction * 100 + 1e-9), fraction < 1 ? 99 : 100))"
      parts.append(String(repeating: " ", count: max(0, 3 - percent.count)) + percent + " %")
    }
    if let counts = row.counts { parts.append("\(counts.done)/\(counts.total)") }
    return (parts + [TerminalText.clock(elapsed)]).joined(separator: "  ")
  }

  /// The line that says how an operation ended.
  func line(title: String, outcome: Outcome<any Sendable>, elapsed: Duration?) -> String {
    let time = elapsed.map { " (\(TerminalText.clock($0)))" } ?? ""
    let title = HarmlessText.line(title)
    return switch outcome {
    case .success: "\(theme.success) \(title)\(time)"
    case .failure(let error): lines(of: error, after: "\(theme.failure) \(title)\(time): ")
    case .cancelled: "\(theme.cancelled) \(title)\(time): cancelled"
    }
  }

  /// The text of the error, each line of it cut to the width.
  private func lines(of error: any Error, after headline: String) -> String {
    (headline + OperationError.describe(error)).split(whereSeparator: \.isNewline).map { line in
      let line = HarmlessText.line(String(line))
      return width > 0 ? TerminalText.cut(line, to: width, mark: theme.mark) : line
    }.joined(separator: "\n")
  }

  /// The line for an operation that runs, where lines cannot be redrawn.
  func line(of row: TerminalSnapshot.Row) -> String {
    let note = note(row).drop { $0 == " " }
    return "\(HarmlessText.line(row.title)): \(note)"
  }
}

/// Measures and cuts text for a terminal.
enum TerminalText {
  /// How many columns the text takes; an estimate for scripts with wide characters.
  static func width(_ text: String) -> Int {
    text.reduce(0) { $0 + width(of: $1) }
  }

  static func width(of character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if first.isASCII { return 1 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    if first.properties.isEmojiPresentation { return 2 }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// The text in at most so many columns, with a mark where something was left out.
  static func cut(_ text: String, to columns: Int, mark: Character) -> String {
    guard width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    var kept = ""
    var used = 0
    for character in text {
      let width = width(of: character)
      guard used + width <= columns - 1 else { break }
      kept.append(character)
      used += width
    }
    kept.append(mark)
    return kept
  }

  /// The text in exactly so many columns.
  static func fitted(_ text: String, to columns: Int, mark: Character) -> String {
    let text = cut(text, to: columns, mark: mark)
    return text + String(repeating: " ", count: max(0, columns - width(text)))
  }

  /// A duration as `0:07`, or `1:02:03`.
  static func clock(_ duration: Duration) -> String {
    let seconds = max(0, Int(duration.components.seconds))
    let minutes = padded(seconds / 60 % 60, if: seconds >= 3600) + ":" + padded(seconds % 60, if: true)
    return seconds >= 3600 ? "\(seconds / 3600):\(minutes)" : minutes
  }

  private static func padded(_ number: Int, if isPadded: Bool) -> String {
    isPadded && number < 10 ? "0\(number)" : "\(number)"
  }
}
