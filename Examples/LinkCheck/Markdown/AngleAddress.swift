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
