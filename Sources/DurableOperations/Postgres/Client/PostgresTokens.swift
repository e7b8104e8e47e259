#if os(macOS) || os(Linux)
/// The tokens of a statement, as far as they matter for finding its parameters. As in PostgreSQL,
/// comments nest, and `standard_conforming_strings` is on.
struct PostgresTokens: Sequence, IteratorProtocol {
  enum Token: Equatable {
    /// Blanks and comments.
    case space(ArraySlice<UInt8>)
    /// A keyword, or a name without quotes.
    case word(ArraySlice<UInt8>)
    case question
    case doubledQuestion
    /// `$1`
    case parameter(Int, ArraySlice<UInt8>)
    case semicolon
    /// Quoted texts and names, numbers and signs.
    case other(ArraySlice<UInt8>)

    var isSpace: Bool {
      switch self {
      case .space, .semicolon: true
      case .word, .question, .doubledQuestion, .parameter, .other: false
      }
    }
  }

  private let bytes: [UInt8]
  private var place = 0

  init(_ sql: String) {
    bytes = Array(sql.utf8)
  }

  mutating func next() -> Token? {
    guard place < bytes.count else { return nil }
    let start = place
    switch bytes[place] {
    case UInt8(ascii: " "), 9...13:
      place += 1
      return .space(bytes[start..<place])
    case UInt8(ascii: "-") where byte(1) == UInt8(ascii: "-"):
      while place < bytes.count, bytes[place] != 10, bytes[place] != 13 { place += 1 }
      return .space(bytes[start..<place])
    case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
      skipComment()
      return .space(bytes[start..<place])
    case UInt8(ascii: "?"):
      place += 1
      if byte(0) != UInt8(ascii: "?") { return .question }
      place += 1
      return .doubledQuestion
    case UInt8(ascii: ";"):
      place += 1
      return .semicolon
    case UInt8(ascii: "'"), UInt8(ascii: "\""):
      skipQuoted(escapes: false)
      return .other(bytes[start..<place])
    case UInt8(ascii: "$"):
      return dollar()
    case let byte where Self.beginsName(byte):
      return word()
    case let byte where Self.isDigit(byte):
      // “1e5” is no name, and “1$1” no parameter.
      while place < bytes.count, Self.isInName(bytes[place]) || bytes[place] == UInt8(ascii: ".") { place += 1 }
      return .other(bytes[start..<place])
    default:
      place += 1
      return .other(bytes[start..<place])
    }
  }

  private func byte(_ offset: Int) -> UInt8? { place + offset < bytes.count ? bytes[place + offset] : nil }

  private mutating func word() -> Token {
    let start = place
    while place < bytes.count, Self.isInName(bytes[place]) { place += 1 }
    // E'…' has escapes; B'…', N'…', X'…' and U&'…' have none.
    if place - start == 1, bytes[start] | 0x20 == UInt8(ascii: "e"), byte(0) == UInt8(ascii: "'") {
      skipQuoted(escapes: true)
      return .other(bytes[start..<place])
    }
    return .word(bytes[start..<place])
  }

  /// Skips a quoted text. A doubled quotation mark belongs to it. Without an end it reaches to the
  /// end of the statement, which the server refuses.
  private mutating func skipQuoted(escapes: Bool) {
    let mark = bytes[place]
    place += 1
    while place < bytes.count {
      if escapes, bytes[place] == UInt8(ascii: "\\") {
        place = Swift.min(place + 2, bytes.count)
      } else if bytes[place] == mark {
        place += 1
        guard byte(0) == mark else { return }
        place += 1
      } else {
        place += 1
      }
    }
  }

  private mutating func skipComment() {
    var depth = 0
    while place < bytes.count {
      if bytes[place] == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        depth += 1
        place += 2
      } else if bytes[place] == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
        depth -= 1
        place += 2
        if depth == 0 { return }
      } else {
        place += 1
      }
    }
  }

  /// `$1`, or a text such as `$$…$$` and `$tag$…$tag$`.
  private mutating func dollar() -> Token {
    let start = place
    place += 1
    if let first = byte(0), Self.isDigit(first) {
      while let next = byte(0), Self.isDigit(next) { place += 1 }
      let digits = String(decoding: bytes[start + 1..<place], as: UTF8.self)
      return .parameter(Int(digits) ?? Int.max, bytes[start..<place])
    }
    var end = place
    while end < bytes.count, Self.isInName(bytes[end]), bytes[end] != UInt8(ascii: "$") { end += 1 }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else { return .other(bytes[start..<place]) }
    let tag = bytes[start...end]
    place = end + 1
    while place < bytes.count, !bytes[place...].starts(with: tag) { place += 1 }
    place = Swift.min(place + tag.count, bytes.count)
    return .other(bytes[start..<place])
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func beginsName(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte < 0x80 || byte == UInt8(ascii: "_")
      || byte >= 0x80
  }

  private static func isInName(_ byte: UInt8) -> Bool {
    beginsName(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
  }
}
#endif
