/// One line of a Markdown file while its marks are taken off from the left.
struct MarkdownLine {
  /// The rest of the line, without the newline. Tabs that stand among the marks are expanded.
  private(set) var rest: ArraySlice<UInt8>

  init(_ line: some Collection<UInt8>) {
    let marks = line.prefix { $0.isWhitespace || $0.isDigit || Self.marks.contains($0) }
    guard marks.contains(.tab) else {
      rest = Array(line)[...]
      return
    }
    var expanded: [UInt8] = []
    for byte in marks {
      if byte == .tab {
        expanded.append(contentsOf: repeatElement(.space, count: 4 - expanded.count % 4))
      } else {
        expanded.append(byte)
      }
    }
    rest = (expanded + line.dropFirst(marks.count))[...]
  }

  /// What the marks of quotes and list items are made of, besides digits.
  private static let marks = Array(">-+*.)".utf8)

  var isBlank: Bool { rest.allSatisfy(\.isWhitespace) }

  /// How many spaces the rest begins with.
  var indent: Int { rest.prefix { $0 == .space }.count }

  /// The rest without the spaces it begins with.
  var content: ArraySlice<UInt8> { rest.drop { $0 == .space } }

  mutating func drop(_ count: Int) {
    rest = rest.dropFirst(count)
  }

  /// Takes off the mark of a quote, `>` and one space.
  mutating func takeQuoteMark() -> Bool {
    guard indent <= 3, content.first == .greater else { return false }
    rest = content.dropFirst()
    if rest.first == .space { rest = rest.dropFirst() }
    return true
  }

  /// Takes off the mark of a list item, and returns how far its content is indented.
  ///
  /// - Parameter interruptsParagraph: Whether a paragraph stands above: then only items with content, and only number
  ///   one, begin a list.
  mutating func takeItemMark(interruptsParagraph: Bool) -> Int? {
    let indent = indent
    guard indent <= 3, let width = itemMarkWidth(interruptsParagraph: interruptsParagraph) else { return nil }
    var after = MarkdownLine(content.dropFirst(width))
    guard !after.isBlank else {
      guard !interruptsParagraph else { return nil }
      self = after
      return indent + width + 1
    }
    let spaces = after.indent
    guard spaces > 0 else { return nil }
    // Five spaces and more: an item that begins with indented code, whose own indent stays.
    let taken = spaces > 4 ? 1 : spaces
    after.drop(taken)
    self = after
    return indent + width + taken
  }

  private func itemMarkWidth(interruptsParagraph: Bool) -> Int? {
    switch content.first {
    case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "*"): return 1
    case .some(let byte) where byte.isDigit:
      let digits = content.prefix { $0.isDigit }
      let mark = content.dropFirst(digits.count).first
      guard digits.count <= 9, mark == UInt8(ascii: ".") || mark == .closeParenthesis else { return nil }
      if interruptsParagraph, !digits.elementsEqual([UInt8(ascii: "1")]) { return nil }
      return digits.count + 1
    default: return nil
    }
  }

  /// Whether the line is a rule: three or more of `-`, `_` or `*`, with nothing but spaces between.
  var isThematicBreak: Bool {
    guard indent <= 3, let mark = content.first, [.dash, .underscore, UInt8(ascii: "*")].contains(mark) else {
      return false
    }
    return content.allSatisfy { $0 == mark || $0.isWhitespace } && content.count { $0 == mark } >= 3
  }

  /// Whether the line underlines the paragraph above and so makes it a heading.
  var isSetextUnderline: Bool {
    guard indent <= 3, let mark = content.first, mark == .dash || mark == .equals else { return false }
    return content.drop { $0 == mark }.allSatisfy(\.isWhitespace)
  }

  /// The text of a heading that begins with `#`, without the marks at both ends.
  var headingText: ArraySlice<UInt8>? {
    let marks = content.prefix { $0 == .hash }.count
    guard indent <= 3, (1...6).contains(marks) else { return nil }
    var text = content.dropFirst(marks)
    guard text.first.map(\.isWhitespace) ?? true else { return nil }
    text = text.trimmed
    var end = text
    while end.last == .hash { end = end.dropLast() }
    if end.isEmpty || end.last?.isWhitespace == true { text = end.trimmed }
    return text
  }

  /// The mark of a fence that opens a block of code: its character and how often it stands there.
  var openingFence: (mark: UInt8, count: Int)? {
    guard indent <= 3, let mark = content.first, mark == .backtick || mark == .tilde else { return nil }
    let count = content.prefix { $0 == mark }.count
    guard count >= 3, mark == .tilde || !content.dropFirst(count).contains(.backtick) else { return nil }
    return (mark, count)
  }

  func closesFence(_ mark: UInt8, _ count: Int) -> Bool {
    guard indent <= 3 else { return false }
    let marks = content.prefix { $0 == mark }.count
    return marks >= count && content.dropFirst(marks).allSatisfy(\.isWhitespace)
  }
}

extension ArraySlice where Element == UInt8 {
  /// The slice without the whitespace at both ends.
  var trimmed: ArraySlice<UInt8> {
    var slice = drop(while: \.isWhitespace)
    while slice.last?.isWhitespace == true { slice = slice.dropLast() }
    return slice
  }
}
