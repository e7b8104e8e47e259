/// The link reference definitions of a file: `[label]: destination "title"`.
struct LinkDefinitions {
  struct Definition: Equatable {
    let destination: String
    let line: Int
  }

  /// In the order of the file. Of several definitions with one label only the first counts.
  private(set) var all: [Definition] = []
  private var labels: Set<String> = []

  func contains(_ label: String) -> Bool {
    labels.contains(label)
  }

  /// Takes in the definitions that a paragraph begins with, and returns the rest of it.
  mutating func take(from paragraph: Passage) -> Passage {
    let bytes = paragraph.bytes
    var taken = 0
    while let (label, destination, offset, end) = Self.definition(in: bytes, at: taken) {
      if labels.insert(label).inserted {
        all.append(Definition(destination: destination, line: paragraph.line(at: offset)))
      }
      taken = end
    }
    return taken == 0 ? paragraph : paragraph.dropping(taken)
  }

  private static func definition(
    in bytes: [UInt8], at start: Int
  ) -> (label: String, destination: String, offset: Int, end: Int)? {
    let open = LinkSyntax.skipWhitespace(in: bytes, from: start)
    guard let (label, labelEnd) = LinkSyntax.label(in: bytes, at: open), !label.isEmpty, !label.hasPrefix("^"),
      labelEnd < bytes.count, bytes[labelEnd] == .colon
    else { return nil }
    let offset = LinkSyntax.skipWhitespace(in: bytes, from: labelEnd + 1)
    guard let (destination, end) = LinkSyntax.destination(in: bytes, at: offset), end > offset else { return nil }
    // A title may follow on the same line or the next. One that is none leaves the definition whole
    // if it stood below.
    let titleStart = LinkSyntax.skipWhitespace(in: bytes, from: end)
    if titleStart > end, let titleEnd = LinkSyntax.titleEnd(in: bytes, at: titleStart),
      let lineEnd = endOfLine(in: bytes, from: titleEnd)
    {
      return (label, destination, offset, lineEnd)
    }
    guard let lineEnd = endOfLine(in: bytes, from: end) else { return nil }
    return (label, destination, offset, lineEnd)
  }

  /// Where the next line begins, when nothing but spaces stands before it.
  private static func endOfLine(in bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] != .newline {
      guard bytes[index].isWhitespace else { return nil }
      index += 1
    }
    return min(index + 1, bytes.count)
  }
}
