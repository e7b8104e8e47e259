/// Text for terminals, logs and pages. Names and errors may come from anywhere, and what is in them must not be obeyed.
package enum HarmlessText {
  private static let replacement: Unicode.Scalar = "\u{FFFD}"

  /// The text on one line, with nothing in it that moves a cursor, changes a colour or turns the direction of text.
  ///
  /// Line ends and tabs become spaces; other control characters, and characters that cannot be seen, become `U+FFFD`.
  /// Those stay that belong to what can be seen: U+200C and U+200D, which Persian names and emoji need, and the tags of
  /// flags.
  package static func line(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { scalars.append(harmless(scalar)) }
    return String(scalars)
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
