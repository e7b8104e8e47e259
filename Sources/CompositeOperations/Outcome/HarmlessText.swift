/// Sanitizes text for terminals, logs and pages: names and errors may contain hostile control
/// characters.
package enum HarmlessText {
  private static let replacement: Unicode.Scalar = "\u{FFFD}"

  /// Returns the text on one line, without characters that move the cursor, change colours or
  /// reverse the direction of text.
  ///
  /// Line ends and tabs become spaces; other control characters and invisible characters become
  /// `U+FFFD`. Invisible characters that visible ones need stay: U+200C and U+200D, for Persian
  /// names and emoji, and the tags of flags.
  package static func line(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map(harmless)))
  }

  private static func harmless(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.properties.generalCategory {
    case .control: scalar.properties.isWhitespace ? " " : replacement
    case .lineSeparator, .paragraphSeparator: " "
    case .format where scalar.properties.isDefaultIgnorableCodePoint && !isPartOfVisible(scalar): replacement
    default: scalar
    }
  }

  private static func isPartOfVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x200C, 0x200D, 0xE0020...0xE007F: true
    default: false
    }
  }
}
