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

  /// How long a text is at most, in bytes of UTF-8; a little more, for the line is finished.
  package static let maxLength = 16_384
  /// How long what a single cause says is at most.
  package static let maxCauseLength = 4_000
  /// How many levels of errors in errors are shown. Of what is further in the first innermost cause is.
  package static let maxDepth = 40

  /// The text of an error with all that is in it.
  package static func text(of error: any ErrorWithReport) -> String {
    let report = error.report
    var writer = Writer()
    writer.write((report.subject.map { "\($0): " } ?? "") + report.headline, depth: 0)
    writer.push(report.items, depth: 1)
    while let (item, depth) = writer.pending.popLast() {
      guard writer.text.utf8.count < maxLength else {
        writer.write("… and more, which is left out here", depth: 1)
        break
      }
      writer.write(item, depth: depth)
    }
    if let remedy = report.remedy { writer.write(remedy, depth: 0) }
    return writer.text
  }

  /// What an error without a report says, in at most ``maxCauseLength`` bytes.
  package static func sentence(of error: any Error) -> String {
    let text = (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
    guard text.utf8.count > maxCauseLength else { return text }
    return String(decoding: text.utf8.prefix(maxCauseLength), as: UTF8.self) + "…"
  }

  private struct Writer {
    var text = ""
    var pending: [(item: Item, depth: Int)] = []

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

    /// A line, or several, the further ones set in below the first.
    mutating func write(_ paragraph: String, depth: Int) {
      let indentation = String(repeating: "  ", count: depth)
      for (index, line) in paragraph.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
        if !text.isEmpty { text += "\n" }
        text += indentation + (index == 0 ? "" : "  ") + HarmlessText.line(String(line))
      }
    }
  }
}
