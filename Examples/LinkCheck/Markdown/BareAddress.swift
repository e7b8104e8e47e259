/// An address in the middle of the text, without any brackets, as GitHub makes a link of it.
struct BareAddress: Equatable {
  let destination: String
  let offset: Int
  let end: Int

  /// The address that begins at `start`, if one does.
  init?(in bytes: [UInt8], at start: Int) {
    let before = start > 0 ? bytes[start - 1] : .space
    let prefix: String
    switch bytes[start] {
    case UInt8(ascii: "h"), UInt8(ascii: "H"):
      guard bytes.has("http://", at: start) || bytes.has("https://", at: start), !before.isLetterOrDigit else {
        return nil
      }
      prefix = ""
    case UInt8(ascii: "w"), UInt8(ascii: "W"):
      guard bytes.has("www.", at: start), before.isWhitespace || Self.beginnings.contains(before) else { return nil }
      prefix = "http://"
    default: return nil
    }
    // The host first: where there is none, the rest is not read, for the next address may begin in
    // there.
    guard Self.hasHost(bytes[start...]) else { return nil }
    let address = Self.trimmed(bytes[start...].prefix { $0 > 0x20 && !Self.ends.contains($0) })
    guard Self.hasHost(address) else { return nil }
    destination = prefix + HTMLEntity.decoding(address)
    offset = start
    end = address.endIndex
  }

  /// What may stand before an address that does not say its scheme.
  private static let beginnings = Array("*_~(|".utf8)

  /// What no address goes on behind: the marks of other markup, which may be around it, and of
  /// table cells.
  private static let ends: [UInt8] = [.less, .openBracket, .closeBracket, .backtick, UInt8(ascii: "|")]

  /// The address without the marks of the sentence around it.
  private static func trimmed(_ address: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var address = address
    var unopened = address.count { $0 == .closeParenthesis } - address.count { $0 == .openParenthesis }
    while let last = address.last {
      switch last {
      case .exclamation, UInt8(ascii: "?"), UInt8(ascii: "."), UInt8(ascii: ","), .colon, UInt8(ascii: "*"),
        .underscore, .tilde, .quote, .apostrophe:
        address = address.dropLast()
      case .closeParenthesis:
        // A closing parenthesis belongs to the address when it was opened there.
        guard unopened > 0 else { return address }
        address = address.dropLast()
        unopened -= 1
      case .semicolon:
        let name = address.dropLast().reversed().prefix { $0.isLetterOrDigit }.count
        let ampersand = address.endIndex - name - 2
        guard name > 0, ampersand > address.startIndex, address[ampersand] == .ampersand else { return address }
        address = address[..<ampersand]
      default: return address
      }
    }
    return address
  }

  private static func hasHost(_ address: ArraySlice<UInt8>) -> Bool {
    let isPlain = address.hasPrefixIgnoringCase("www.")
    let scheme = isPlain ? 0 : address.prefix { $0 != .slash }.count + 2
    let host = address.dropFirst(scheme).prefix { byte in
      byte.isLetterOrDigit || byte == .dash || byte == UInt8(ascii: ".") || byte > 0x7F
    }
    return host.first?.isPunctuation == false && host.count > (isPlain ? 4 : 0)
  }
}

/// Addresses in angle brackets: `<https://example.org>` and `<somebody@example.org>`.
enum AngleAddress {
  /// Where the address at `start` leads, what is shown for it, and where it ends.
  static func address(in bytes: [UInt8], at start: Int) -> (destination: String, shown: ArraySlice<UInt8>, end: Int)? {
    let content = bytes[(start + 1)...].prefix { $0 > 0x20 && $0 != .less && $0 != .greater }
    guard content.endIndex < bytes.count, bytes[content.endIndex] == .greater else { return nil }
    let end = content.endIndex + 1
    let scheme = content.prefix { $0.isLetterOrDigit || [UInt8(ascii: "+"), .dash, UInt8(ascii: ".")].contains($0) }
    if (2...32).contains(scheme.count), scheme.first?.isLetter == true, content.dropFirst(scheme.count).first == .colon
    {
      return (HTMLEntity.decoding(content), content, end)
    }
    return isMail(content) ? ("mailto:" + content.text, content, end) : nil
  }

  private static func isMail(_ content: ArraySlice<UInt8>) -> Bool {
    let parts = content.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return false }
    let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts[0].allSatisfy { $0.isLetterOrDigit || ($0.isPunctuation && $0 != .backslash) }
      && labels.allSatisfy { label in
        !label.isEmpty && label.first != .dash && label.last != .dash
          && label.allSatisfy { $0.isLetterOrDigit || $0 == .dash }
      }
  }
}
