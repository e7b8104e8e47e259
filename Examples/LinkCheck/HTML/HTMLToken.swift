/// A tag with its attributes.
struct HTMLTag: Equatable {
  struct Attribute: Equatable {
    /// In lower case.
    let name: String
    /// Without its quotes, and with the characters that its entities stand for.
    let value: String
    /// Where the value stands.
    let offset: Int
  }

  /// In lower case.
  let name: String
  let isClosing: Bool
  var attributes: [Attribute] = []

  subscript(name: String) -> String? {
    attributes.first { $0.name == name }?.value
  }
}

/// What begins with `<` in HTML.
enum HTMLToken: Equatable {
  case tag(HTMLTag, end: Int)
  /// A comment, declaration or instruction, or the unended tag at the end of a file.
  case other(end: Int)
}

/// Reads the tokens of a text from left to right.
struct HTMLTokens {
  private let bytes: [UInt8]
  private let isStrict: Bool
  private var comments = MarkSearch("-->")
  private var instructions = MarkSearch("?>")
  private var sections = MarkSearch("]]>")
  private var declarations = MarkSearch(">")

  /// - Parameter isStrict: Whether only well-formed tags count, as in Markdown; browsers put up
  ///   with more.
  init(_ bytes: [UInt8], isStrict: Bool) {
    self.bytes = bytes
    self.isStrict = isStrict
  }

  /// The token at `start`, or nil when the `<` there is just a character.
  mutating func token(at start: Int) -> HTMLToken? {
    guard start + 1 < bytes.count, bytes[start] == .less else { return nil }
    switch bytes[start + 1] {
    case .exclamation: return markupEnd(at: start).map { .other(end: $0) }
    case UInt8(ascii: "?"): return instructions.end(in: bytes, from: start + 2).map { .other(end: $0) }
    default: return tag(at: start)
    }
  }

  private func tag(at start: Int) -> HTMLToken? {
    var parser = HTMLTagParser(bytes: bytes, index: start + 1, isStrict: isStrict)
    if let tag = parser.parse() { return .tag(tag, end: parser.index) }
    // To browsers a tag without an end goes on to the end of the file, like a comment.
    return !isStrict && parser.index == bytes.count ? .other(end: bytes.count) : nil
  }

  private mutating func markupEnd(at start: Int) -> Int? {
    if bytes.has("<!--", at: start) {
      if bytes.has(">", at: start + 4) { return start + 5 }
      if bytes.has("->", at: start + 4) { return start + 6 }
      // Browsers let a comment without an end go on to the end of the file; in Markdown it is text.
      return comments.end(in: bytes, from: start + 4) ?? (isStrict ? nil : bytes.count)
    }
    if bytes.has("<![cdata[", at: start) { return sections.end(in: bytes, from: start + 9) }
    if isStrict, start + 2 >= bytes.count || !bytes[start + 2].isLetter { return nil }
    return declarations.end(in: bytes, from: start + 2)
  }
}

/// Reads one tag, from behind its `<` to behind its `>`.
struct HTMLTagParser {
  let bytes: [UInt8]
  var index: Int
  let isStrict: Bool

  mutating func parse() -> HTMLTag? {
    let isStrict = isStrict
    let isClosing = current == .slash
    if isClosing { index += 1 }
    guard current?.isLetter == true else { return nil }
    let name = take { $0.isLetterOrDigit || $0 == .dash || (!isStrict && !$0.isWhitespace && !$0.endsName) }
    var tag = HTMLTag(name: name.text.lowercased(), isClosing: isClosing)
    while true {
      let spaces = take(while: \.isWhitespace)
      switch current {
      case nil: return nil
      case .greater:
        index += 1
        return tag
      case .slash:
        index += 1
        if isStrict, isClosing || current != .greater { return nil }
      default:
        if isStrict, isClosing || spaces.isEmpty { return nil }
        guard let attribute = parseAttribute() else { return nil }
        tag.attributes.append(attribute)
      }
    }
  }

  private mutating func parseAttribute() -> HTMLTag.Attribute? {
    let start = index
    if isStrict {
      guard let first = current, first.isLetter || first == .underscore || first == .colon else { return nil }
      _ = take { $0.isLetterOrDigit || [.underscore, .colon, .dash, UInt8(ascii: ".")].contains($0) }
    } else {
      index += 1
      _ = take { !$0.isWhitespace && !$0.endsName && $0 != .equals }
    }
    let name = bytes[start..<index].text.lowercased()
    let end = index
    _ = take(while: \.isWhitespace)
    guard current == .equals else {
      index = end
      return HTMLTag.Attribute(name: name, value: "", offset: start)
    }
    index += 1
    _ = take(while: \.isWhitespace)
    guard let value = parseValue() else { return nil }
    return HTMLTag.Attribute(name: name, value: HTMLEntity.decoding(value), offset: value.startIndex)
  }

  private mutating func parseValue() -> ArraySlice<UInt8>? {
    if let quote = current, quote == .quote || quote == .apostrophe {
      index += 1
      let value = take { $0 != quote }
      guard current == quote else { return nil }
      index += 1
      return value
    }
    let isStrict = isStrict
    let value = take { byte in
      !byte.isWhitespace && byte != .greater
        && !(isStrict && [.quote, .apostrophe, .equals, .less, .backtick].contains(byte))
    }
    return isStrict && value.isEmpty ? nil : value
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let taken = bytes[index...].prefix(while: condition)
    index = taken.endIndex
    return taken
  }
}

extension UInt8 {
  fileprivate var endsName: Bool { self == .slash || self == .greater }
}
