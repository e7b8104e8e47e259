import CompositeOperations

extension Timeline {
  /// The timeline as a tree for a terminal.
  ///
  /// ```text
  /// ✓ import                        1.20 s  *
  /// ├─ ✓ read                       12.4 ms
  /// └─ ✗ upload                     1.18 s  waited 2.10 ms, attempt 2: the host did not answer  *
  /// ```
  ///
  /// The sign is the ending: `✓` success, `✗` failure, `⊘` cancelled, `…` still running, `·` not
  /// started. Then come the duration, the time that the entry waited if that was a tenth of a
  /// millisecond or more, the attempt if it was not the first, and the error. `*` marks the
  /// critical path. Levels below the 40th are not indented further.
  ///
  /// The kind follows the name of a policy, and of what `map` and the like return. Control
  /// characters, and those that turn the direction of text, are replaced, so that a name cannot
  /// play tricks on the terminal.
  public func textTree() -> String {
    let tree = TimelineTree(self)
    let critical = Set(CriticalPath(tree).places)
    var lines: [(head: String, tail: String)] = []
    // For each level, whether a line continues below.
    var rails: [Bool] = []
    tree.walk { visit in
      let entry = entries[visit.place]
      rails.removeLast(max(0, rails.count - visit.depth))
      var indent = ""
      if visit.depth > 0 {
        for goesOn in rails.dropFirst().prefix(Timeline.deepestIndent) { indent += goesOn ? "│  " : "   " }
        indent += visit.isLast ? "└─ " : "├─ "
        if visit.depth > Timeline.deepestIndent { indent += "(\(visit.depth)) " }
      }
      rails.append(!visit.isLast)
      let head = "\(indent)\(sign(of: entry)) \(HarmlessText.line(entry.titleWithKind))"
      lines.append((head, details(of: entry) + (critical.contains(visit.place) ? "  *" : "")))
    }
    let width = min(60, lines.map(\.head.count).max() ?? 0)
    return lines.map { head, tail in
      guard !tail.isEmpty else { return head + "\n" }
      return head + String(repeating: " ", count: max(0, width - head.count)) + "  " + tail + "\n"
    }.joined()
  }

  private static let deepestIndent = 40

  private func sign(of entry: Entry) -> String {
    switch entry.ending {
    case .success: "✓"
    case .failure: "✗"
    case .cancelled: "⊘"
    case nil: entry.started == nil ? "·" : "…"
    }
  }

  private func details(of entry: Entry) -> String {
    guard let started = entry.started else { return entry.ending == nil ? "not started" : "never started" }
    var text = ((entry.settled ?? end) - started).shortText
    var notes: [String] = []
    let wait = started - entry.queued
    if wait >= .microseconds(100) { notes.append("waited \(wait.shortText)") }
    if entry.attempt > 1 { notes.append("attempt \(entry.attempt)") }
    if !notes.isEmpty { text += "  " + notes.joined(separator: ", ") }
    if case .failure(let message) = entry.ending {
      text += (notes.isEmpty ? "  " : ": ") + HarmlessText.line(message)
    }
    return text
  }
}

extension Duration {
  /// Nanoseconds, clamped to an `Int64`.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflows ? (seconds < 0 ? .min : .max) : sum
  }

  /// Microseconds with three digits after the point, whatever the locale.
  var microsecondsText: String {
    let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    let digits = "\(rest)"
    return "\(nanoseconds < 0 ? "-" : "")\(whole)." + String(repeating: "0", count: 3 - digits.count) + digits
  }

  /// The duration for people: three significant digits and a unit.
  var shortText: String {
    let nanoseconds = nanoseconds
    let magnitude = nanoseconds.magnitude
    let sign = nanoseconds < 0 ? "-" : ""
    let minute: UInt64 = 60_000_000_000
    if magnitude >= 60 * minute {
      return "\(sign)\(magnitude / (60 * minute)) h \(magnitude / minute % 60) min"
    }
    if magnitude >= minute { return "\(sign)\(magnitude / minute) min \(magnitude % minute / 1_000_000_000) s" }
    for (unit, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)] as [(String, UInt64)]
    where magnitude >= size {
      let whole = magnitude / size
      let places: UInt64 = whole >= 100 ? 1 : whole >= 10 ? 10 : 100
      guard places > 1 else { return "\(sign)\(whole) \(unit)" }
      let rest = "\(magnitude % size * places / size)"
      return "\(sign)\(whole)." + String(repeating: "0", count: places == 100 ? 2 - rest.count : 0) + "\(rest) \(unit)"
    }
    return "\(sign)\(magnitude) ns"
  }
}
