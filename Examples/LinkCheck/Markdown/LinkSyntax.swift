/// The parts that Markdown's links and their definitions are made of. Each is nil when it does not
/// stand at the index.
enum LinkSyntax {
  /// A destination, in angle brackets or bare, without its escapes, and where it ends. A bare one
  /// may be empty.
  static func destination(in bytes: [UInt8], at start: Int) -> (text: String, end: Int)? {
    guard start < bytes.count else { return nil }
    return bytes[start] == .less ? bracketed(bytes, start) : bare(bytes, start)
  }

  private static func bracketed(_ bytes: [UInt8], _ start: Int) -> (text: String, end: Int)? {
    var index = start + 1
    while index < bytes.count {
      switch bytes[index] {
      case .greater: return (unescaped(bytes[start + 1..<index]), index + 1)
      case .less, .newline: return nil
      case .backslash: index += 2
      default: index += 1
      }
    }
    return nil
  }

  /// How deep parentheses may be nested in a bare destination. CommonMark leaves the limit to its
  /// implementations; this is that of cmark. Without one, every `(` of a text that never closes
  /// them would be followed to its end.
  private static let maxDepth = 32

  private static func bare(_ bytes: [UInt8], _ start: Int) -> (text: String, end: Int)? {
    var index = start
    var depth = 0
    scan: while index < bytes.count {
      switch bytes[index] {
      case .backslash where index + 1 < bytes.count && bytes[index + 1].isPunctuation: index += 1
      case .openParenthesis:
        depth += 1
        guard depth <= maxDepth else { return nil }
      case .closeParenthesis:
        if depth == 0 { break scan }
        depth -= 1
      case ...0x20, 0x7F: break scan
      default: break
      }
      index += 1
    }
    return depth == 0 ? (unescaped(bytes[start..<index]), index) : nil
  }

  /// Where a title in quotes or parentheses ends.
  static func titleEnd(in bytes: [UInt8], at start: Int) -> Int? {
    guard start < bytes.count else { return nil }
    let close: UInt8
    switch bytes[start] {
    case .quote, .apostrophe: close = bytes[start]
    case .openParenthesis: close = .closeParenthesis
    default: return nil
    }
    var index = start + 1
    while index < bytes.count {
      if bytes[index] == close { return index + 1 }
      if bytes[index] == .openParenthesis, close == .closeParenthesis { return nil }
      index += bytes[index] == .backslash ? 2 : 1
    }
    return nil
  }

  /// A label in brackets, as it is compared, and where it ends. It is empty for `[]`.
  static func label(in bytes: [UInt8], at start: Int) -> (text: String, end: Int)? {
    guard start < bytes.count, bytes[start] == .openBracket else { return nil }
    var index = start + 1
    while index < bytes.count, index - start <= 1_000 {
      switch bytes[index] {
      case .closeBracket:
        let label = normalized(bytes[start + 1..<index])
        return label.isEmpty && index > start + 1 ? nil : (label, index + 1)
      case .openBracket: return nil
      case .backslash: index += 2
      default: index += 1
      }
    }
    return nil
  }

  /// What follows the text of an inline link: `(destination "title")`.
  static func inlineTail(in bytes: [UInt8], at start: Int) -> (destination: String, offset: Int, end: Int)? {
    guard start < bytes.count, bytes[start] == .openParenthesis else { return nil }
    let offset = skipWhitespace(in: bytes, from: start + 1)
    guard let (destination, end) = destination(in: bytes, at: offset) else { return nil }
    var index = skipWhitespace(in: bytes, from: end)
    if index > end, let titleEnd = titleEnd(in: bytes, at: index) {
      index = skipWhitespace(in: bytes, from: titleEnd)
    }
    guard index < bytes.count, bytes[index] == .closeParenthesis else { return nil }
    return (destination, min(offset, bytes.count - 1), index + 1)
  }

  static func skipWhitespace(in bytes: [UInt8], from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index].isWhitespace { index += 1 }
    return index
  }

  /// Labels are the same in any case of letters and with any whitespace.
  static func normalized(_ label: ArraySlice<UInt8>) -> String {
    label.split(whereSeparator: \.isWhitespace).map(\.text).joined(separator: " ").lowercased()
  }

  /// Text without its backslashes, and with the characters that its entities stand for.
  static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let next = index + 1
      if bytes[index] == .backslash, next < bytes.endIndex, bytes[next].isPunctuation {
        result.append(bytes[next])
        index += 2
      } else if bytes[index] == .ampersand, let (text, end) = HTMLEntity.decoded(in: bytes, at: index) {
        result.append(contentsOf: text.utf8)
        index = end
      } else {
        result.append(bytes[index])
        index = next
      }
    }
    return result.text
  }
}
