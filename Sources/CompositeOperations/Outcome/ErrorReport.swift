import Foundation

/// An error whose text has those of other errors in it, which may have others in them, and so on.
///
/// `description` is `ErrorReport.text(of: self)`.
package protocol ErrorWithReport: Error {
  /// What the text is made of.
  var report: ErrorReport { get }
}

/// The parts of an error's text: a headline, a line for each cause, and what to do.
///
/// The text is bounded in length, in depth and in indentation, and takes time in proportion to the number of errors, for
/// one line of a log must not stop a program. Errors are walked in a loop: they may nest deeper than a stack goes.
package struct ErrorReport {
  /// A line below the headline.
  package struct Item {
    /// What the line begins with, such as the name of what failed and a colon.
    package var label: String
    /// What the line goes on with: one that has a report itself is set in below the line.
    package var cause: (any Error)?

    package init(_ label: String, cause: (any Error)? = nil) {
      self.label = label
      self.cause = cause
    }
  }

  /// The operation, left out where the line that the report stands in names it.
  package var subject: String?
  /// What is wrong.
  package var headline: String
  package var items: [Item]
  /// What to do: the last line, for the outermost error alone.
  package var remedy: String?

  package init(subject: String? = nil, headline: String, items: [Item], remedy: String? = nil) {
    self.subject = subject
    self.headline = headline
    self.items = items
    self.remedy = remedy
  }

  /// How long a text is at most, in bytes of UTF-8; but what begins before that may be as long as ``maxCauseLength``, and
  /// the remedy comes after it.
  package static let maxLength = 16_384
  /// How long what a single cause says is at most.
  package static let maxCauseLength = 4_000
  /// How many characters of a name are shown at most. The error itself has it as it is.
  package static let maxNameLength = 200
  /// How many levels of errors in errors are shown. Of what is further in the first innermost cause is.
  package static let maxDepth = 40

  /// The text of an error with all that is in it.
  package static func text(of error: any ErrorWithReport) -> String {
    let report = error.report
    var writer = Writer()
    writer.write((report.subject.map { "\($0): " } ?? "") + report.headline, depth: 0)
    writer.push(report.items, depth: 1)
    while !writer.isFull, let (item, depth) = writer.pending.popLast() { writer.write(item, depth: depth) }
    if writer.isFull { writer.append("… and more, which is left out here", depth: 1) }
    if let remedy = report.remedy { writer.append(shortened(remedy, to: maxCauseLength), depth: 0) }
    return writer.text
  }

  /// What an error without a report says, in at most ``maxCauseLength`` bytes.
  package static func sentence(of error: any Error) -> String {
    shortened((error as? any LocalizedError)?.errorDescription ?? String(describing: error), to: maxCauseLength)
  }

  /// A name, as it is shown, in at most ``maxNameLength`` characters.
  package static func shortened(_ name: String) -> String {
    guard name.utf8.count > maxNameLength else { return name }
    // A single character may have any number of scalars.
    let start = String(String.UnicodeScalarView(name.unicodeScalars.prefix(maxNameLength * 4)))
    let shown = start.prefix(maxNameLength)
    return shown.utf8.count < name.utf8.count ? "\(shown)…" : name
  }

  /// The same in quotation marks.
  package static func quoted(_ name: String) -> String { "“\(shortened(name))”" }

  /// As much of a text as is in so many bytes of UTF-8.
  private static func shortened(_ text: String, to length: Int) -> String {
    guard text.utf8.count > length else { return text }
    return "\(text[..<text.utf8.index(text.startIndex, offsetBy: length)])…"
  }

  private struct Writer {
    var text = ""
    var pending: [(item: Item, depth: Int)] = []
    /// Whether something is left out, because the text is long enough.
    var isFull = false

    mutating func push(_ items: [Item], depth: Int) {
      // No more than can be shown, so that what is pending does not grow with what is not.
      let limit = maxLength / 8
      if items.count > limit { pending.append((Item("… and \(items.count - limit) more"), depth)) }
      for item in items.prefix(limit).reversed() { pending.append((item, depth)) }
    }

    mutating func write(_ item: Item, depth: Int) {
      guard let cause = item.cause else { return write(item.label, depth: depth) }
      guard let error = cause as? any ErrorWithReport else {
        return write(item.label + sentence(of: cause), depth: depth)
      }
      guard depth < maxDepth else { return writeInnermost(item.label, error, depth: depth) }
      let report = error.report
      let subject = item.label.isEmpty ? report.subject.map { "\($0): " } ?? "" : ""
      write(item.label + subject + report.headline, depth: depth)
      push(report.items, depth: depth + 1)
    }

    /// What the first of the causes comes down to.
    private mutating func writeInnermost(_ label: String, _ error: any ErrorWithReport, depth: Int) {
      var (levels, report, cause) = (0, error.report, nil as (any Error)?)
      while let next = report.items.lazy.compactMap(\.cause).first {
        levels += 1
        guard let inner = next as? any ErrorWithReport else {
          cause = next
          break
        }
        report = inner.report
      }
      let text = cause.map { sentence(of: $0) } ?? report.headline
      write("\(label)… \(levels) \(levels == 1 ? "level" : "levels") further in: \(text)", depth: depth)
    }

    /// A line, or several, the further ones set in below the first; as much of it as there is room for.
    mutating func write(_ paragraph: String, depth: Int) {
      let room = maxLength - text.utf8.count
      guard room > 0 else { return isFull = true }
      let shown = shortened(paragraph, to: room + maxCauseLength)
      for (index, line) in shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
        guard text.utf8.count < maxLength else { return isFull = true }
        append(String(line), depth: depth, isFirst: index == 0)
      }
    }

    mutating func append(_ line: String, depth: Int, isFirst: Bool = true) {
      if !text.isEmpty { text += "\n" }
      text += String(repeating: "  ", count: isFirst ? depth : depth + 1)
      // What is shown instead of a character may be longer than that.
      text += shortened(HarmlessText.line(line), to: max(maxLength - text.utf8.count, 0) + maxCauseLength)
    }
  }
}
