/// The characters that have a meaning in Markdown and HTML, as bytes of UTF-8.
extension UInt8 {
  static let tab = UInt8(ascii: "\t")
  static let newline = UInt8(ascii: "\n")
  static let space = UInt8(ascii: " ")
  static let exclamation = UInt8(ascii: "!")
  static let quote = UInt8(ascii: "\"")
  static let hash = UInt8(ascii: "#")
  static let ampersand = UInt8(ascii: "&")
  static let apostrophe = UInt8(ascii: "'")
  static let openParenthesis = UInt8(ascii: "(")
  static let closeParenthesis = UInt8(ascii: ")")
  static let dash = UInt8(ascii: "-")
  static let slash = UInt8(ascii: "/")
  static let colon = UInt8(ascii: ":")
  static let semicolon = UInt8(ascii: ";")
  static let less = UInt8(ascii: "<")
  static let equals = UInt8(ascii: "=")
  static let greater = UInt8(ascii: ">")
  static let openBracket = UInt8(ascii: "[")
  static let backslash = UInt8(ascii: "\\")
  static let closeBracket = UInt8(ascii: "]")
  static let underscore = UInt8(ascii: "_")
  static let backtick = UInt8(ascii: "`")
  static let tilde = UInt8(ascii: "~")

  var isDigit: Bool { (0x30...0x39).contains(self) }
  var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
  var isLetterOrDigit: Bool { isLetter || isDigit }
  var isWhitespace: Bool { self == .space || (0x09...0x0D).contains(self) }

  /// Whether a backslash before it makes it an ordinary character in Markdown.
  var isPunctuation: Bool {
    switch self {
    case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  var lowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

extension Collection where Element == UInt8 {
  /// The text that the bytes stand for; what is not UTF-8 becomes a replacement character.
  var text: String { String(decoding: self, as: UTF8.self) }

  /// Whether the bytes begin with `prefix`, which is written in lower case, in any case of letters.
  func hasPrefixIgnoringCase(_ prefix: StaticString) -> Bool {
    prefix.withUTF8Buffer { wanted in
      count >= wanted.count && zip(self, wanted).allSatisfy { $0.lowercased == $1 }
    }
  }
}

extension RandomAccessCollection where Element == UInt8, Index == Int {
  /// Whether `prefix` stands at `index`, in any case of letters.
  func has(_ prefix: StaticString, at index: Int) -> Bool {
    index <= endIndex && self[index...].hasPrefixIgnoringCase(prefix)
  }

  /// Where `mark` stands first, from `index` on, in any case of letters.
  func firstIndex(of mark: StaticString, from index: Int) -> Int? {
    let last = endIndex - mark.utf8CodeUnitCount
    guard mark.utf8CodeUnitCount > 0, index <= last else { return nil }
    let first = mark.utf8Start.pointee
    return (index...last).first { self[$0].lowercased == first && has(mark, at: $0) }
  }
}
