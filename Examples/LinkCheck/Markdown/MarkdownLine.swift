/// One line of a Markdown file while its marks are taken off from the left.
///
/// Each mark costs the same, however long the line is: the line is not copied, and what is asked of
/// its rest after each mark was found out once, from its end.
struct MarkdownLine {
  /// The rest of the line, without the spaces it begins with and without the newline.
  private(set) var content: ArraySlice<UInt8>

  /// How many columns of spaces stand before the content. A tab goes on to the next multiple of
  /// four.
  private(set) var indent = 0

  /// The column of the content.
  private var column = 0

  /// Behind the last character that is no space.
  private let end: Int

  /// The first character behind which there is but one kind of mark, and spaces.
  private let breakStart: Int

  init(_ line: ArraySlice<UInt8>) {
    content = line
    end = line.trimmed.endIndex
    breakStart = Self.breakStart(of: line[..<end])
    takeSpaces()
  }

  private static func breakStart(of line: ArraySlice<UInt8>) -> Int {
    guard let mark = line.last else { return line.endIndex }
    return line.lastIndex { $0 != mark && !$0.isWhitespace }.map { $0 + 1 } ?? line.startIndex
  }

  var isBlank: Bool { content.startIndex >= end }

  /// Takes off up to `count` columns of the spaces before the content.
  mutating func dropIndent(_ count: Int) {
    indent -= min(count, indent)
  }

  /// Takes off the first `count` characters of the content, and the spaces before them.
  private mutating func dropMark(_ count: Int) {
    content = content.dropFirst(count)
    column += count
    indent = 0
    takeSpaces()
  }

  private mutating func takeSpaces() {
    let spaces = content.prefix { $0 == .space || $0 == .tab }
    for byte in spaces {
      let width = byte == .tab ? 4 - column % 4 : 1
      column += width
      indent += width
    }
    content = content[spaces.endIndex...]
  }

  /// Takes off the mark of a quote, `>` and one space.
  mutating func takeQuoteMark() -> Bool {
    guard indent <= 3, content.first == .greater else { return false }
    dropMark(1)
    dropIndent(1)
    return true
  }

  /// Takes off the mark of a list item, and returns how far its content is indented.
  ///
  /// - Parameter interruptsParagraph: Whether a paragraph stands above: then only items with
  ///   content, and only number one, begin a list.
  mutating func takeItemMark(interruptsParagraph: Bool) -> Int? {
    guard indent <= 3, let width = itemMarkWidth(interruptsParagraph: interruptsParagraph) else { return nil }
    var after = self
    after.dropMark(width)
    if after.isBlank {
      guard !interruptsParagraph else { return nil }
      defer { self = after }
      return indent + width + 1
    }
    guard after.indent > 0 else { return nil }
    // Five spaces and more: an item that begins with indented code, whose own indent stays.
    let taken = after.indent > 4 ? 1 : after.indent
    after.dropIndent(taken)
    defer { self = after }
    return indent + width + taken
  }

  /// Takes off the mark of a footnote, `[^name]:` and the spaces behind it.
  mutating func takeFootnoteMark() -> Bool {
    guard indent <= 3, content.starts(with: "[^".utf8), let end = content.firstIndex(of: .closeBracket),
      content[(end + 1)...].first == .colon, !content[..<end].contains(.space)
    else { return false }
    dropMark(end + 2 - content.startIndex)
    indent = 0
    return true
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
    guard indent <= 3, content.startIndex >= breakStart, let mark = content.first,
      [.dash, .underscore, UInt8(ascii: "*")].contains(mark)
    else { return false }
    return content.lazy.filter { $0 == mark }.prefix(3).count == 3
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
