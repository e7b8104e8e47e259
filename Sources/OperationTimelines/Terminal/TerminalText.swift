import CompositeOperations

/// Text as a terminal shows it: without what it would obey, and cut to a number of columns.
enum TerminalText {
  /// How many columns the text takes; for scripts with wide characters about so many.
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
