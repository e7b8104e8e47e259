import Foundation

/// An error whose text contains those of nested errors, at any depth.
package protocol ErrorWithReport: DescribedError {
  /// The parts of the text.
  var report: ErrorReport { get }
}

extension ErrorWithReport {
  /// A headline, a line for each cause, and what to do. Failures inside a cause are indented below
  /// it.
  ///
  /// At most about 16 KB and 40 levels. The text says if it leaves anything out.
  public var description: String { ErrorReport.text(of: self) }
}

/// The parts of an error's text: a headline, a line for each cause, and what to do.
///
/// The text is bounded in length, depth and indentation, and takes time in proportion to the number
/// of errors: logging must not stop a program. Errors are visited in a loop, because they may nest
/// too deep for recursion.
package struct ErrorReport {
  /// A line below the headline.
  package struct Item {
    /// The beginning of the line, such as the name of what failed and a colon.
    package var label: String
    /// The error that follows; the items of its own report are indented below the line.
    package var cause: (any Error)?

    package init(_ label: String, cause: (any Error)? = nil) {
      self.label = label
      self.cause = cause
    }
  }

  /// The operation, omitted if the line of the report already names it.
  package var subject: String?
  /// What went wrong.
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

  /// The maximum length of a text in bytes of UTF-8. The last cause may exceed it by
  /// ``maxCauseLength``, and the remedy follows.
  package static let maxLength = 16_384
  /// The maximum length of the text of a single cause.
  package static let maxCauseLength = 4_000
  /// The maximum number of characters of a name in a text. The error itself has the whole name.
  package static let maxNameLength = 200
  /// How many levels of nested errors are shown. Of deeper ones only the innermost first cause is
  /// shown, with the name of what failed.
  package static let maxDepth = 40

  /// Returns the text of an error and its nested errors.
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

  /// Returns the text of an error without a report, in at most ``maxCauseLength`` bytes.
  package static func sentence(of error: any Error) -> String {
    shortened((error as? any LocalizedError)?.errorDescription ?? String(describing: error), to: maxCauseLength)
  }

  /// Returns a name for display, in at most ``maxNameLength`` characters.
  package static func shortened(_ name: String) -> String {
    guard name.utf8.count > maxNameLength else { return name }
    // A single character may have any number of scalars.
    let start = String(String.UnicodeScalarView(name.unicodeScalars.prefix(maxNameLength * 4)))
    let shown = start.prefix(maxNameLength)
    return shown.utf8.count < name.utf8.count ? "\(shown)…" : name
  }

  /// Returns the same in quotation marks.
  package static func quoted(_ name: String) -> String { "“\(shortened(name))”" }

  /// Returns as much of a text as fits into `length` bytes of UTF-8.
  private static func shortened(_ text: String, to length: Int) -> String {
    guard text.utf8.count > length else { return text }
    return "\(text[..<text.utf8.index(text.startIndex, offsetBy: length)])…"
  }

  private struct Writer {
    var text = ""
    var pending: [(item: Item, depth: Int)] = []
    /// Whether the text is full, and something is left out.
    var isFull = false

    mutating func push(_ items: [Item], depth: Int) {
      // No more than can be shown, which bounds the pending items.
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

    /// Writes the innermost first cause, and what failed with it.
    private mutating func writeInnermost(_ label: String, _ error: any ErrorWithReport, depth: Int) {
      var (levels, report, innermost, cause) = (0, error.report, "", nil as (any Error)?)
      while let item = report.items.first(where: { $0.cause != nil }) {
        (levels, innermost) = (levels + 1, item.label)
        guard let inner = item.cause as? any ErrorWithReport else {
          cause = item.cause
          break
        }
        report = inner.report
      }
      let text = innermost + (cause.map { sentence(of: $0) } ?? report.headline)
      write("\(label)… \(levels) \(levels == 1 ? "level" : "levels") further in: \(text)", depth: depth)
    }

    /// Writes one or more lines, indented below the first; as much as there is room for.
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
      // The replacement of a character may be longer than the character.
      text += shortened(HarmlessText.line(line), to: max(maxLength - text.utf8.count, 0) + maxCauseLength)
    }
  }
}
