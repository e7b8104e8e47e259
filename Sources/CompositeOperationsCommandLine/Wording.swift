import CompositeOperations
import Foundation

/// Numbers and times as people say them.
package enum Wording {
  /// Such as “3 min ago” and “in 2 h”; the day for what is more than two months away.
  package static func age(of date: Date, at now: Date) -> String {
    let seconds = (now.timeIntervalSince1970 - date.timeIntervalSince1970).rounded(.towardZero)
    let length = abs(seconds)
    // A date of another world is told as well as one can.
    guard length < 60 * 86_400 else { return length < 1e11 ? String(timestamp(of: date).prefix(10)) : "never" }
    guard length >= 1 else { return "now" }
    let text = span(Int(length))
    return seconds > 0 ? "\(text) ago" : "in \(text)"
  }

  /// Such as “3 min”: whole units, rounded down.
  package static func span(_ seconds: Int) -> String {
    switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<(2 * 86_400): "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }

  /// In ISO 8601, with milliseconds, in UTC: `2026-03-29T10:11:12.345Z`.
  package static func timestamp(of date: Date) -> String {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    let seconds = (milliseconds / 1000).rounded(.down)
    let rest = Int(milliseconds - seconds * 1000)
    let whole = Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    let digits = String(rest)
    return whole.dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
  }

  /// Such as “12 KB”.
  package static func size(_ bytes: Int) -> String {
    var value = Double(bytes)
    var unit = 0
    let units = ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 1000, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    if unit == 0 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    let tenths = Int((value * 10).rounded())
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\((tenths + 5) / 10) \(units[unit])"
  }

  /// Such as “1 job” and “3 jobs”.
  package static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }

  /// A text that moves no cursor and ends no line: what a terminal would obey is shown as spaces
  /// and marks.
  package static func plain(_ text: String) -> String { HarmlessText.line(text) }

  /// ``plain(_:)`` for each line of a text that has several.
  package static func plainLines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { plain(String($0)) }.joined(separator: "\n")
  }

  /// The lines of a text, which have so many characters at most unless a word has more.
  package static func lines(_ text: String, of width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  /// A text of so many characters at most.
  package static func shortened(_ text: String, to length: Int) -> String {
    text.count <= length ? text : text.prefix(max(0, length - 1)) + "…"
  }
}
