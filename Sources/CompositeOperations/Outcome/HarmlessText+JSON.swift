// JSON for machines that people look at, too: on a terminal or in a page.

extension HarmlessText {
  /// A text as a string of JSON, in quotation marks, with nothing in it that a terminal obeys.
  ///
  /// - Parameter isForPage: whether the JSON stands in a page of HTML. What could begin markup or
  ///   end a script there is an escape, too.
  package static func quotedJSON(_ text: String, isForPage: Bool = false) -> String {
    let quoted = replacing(in: text) { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case "<", ">", "&", "'": isForPage ? jsonEscape(of: scalar) : nil
      default: isEscapedInJSON(scalar) ? jsonEscape(of: scalar) : nil
      }
    }
    return "\"\(quoted)\""
  }

  /// JSON with nothing in it that a terminal obeys. Line ends between its tokens stay.
  ///
  /// What a terminal would obey stands in the strings of JSON alone, where an escape means the
  /// same.
  package static func json(_ json: String) -> String {
    if json.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A }) { return json }
    return replacing(in: json) { $0 != "\n" && isEscapedInJSON($0) ? jsonEscape(of: $0) : nil }
  }

  /// Whether a character is an escape in JSON that a terminal may show: control characters, line
  /// separators, and what turns the direction of text.
  package static func isEscapedInJSON(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}",
      "\u{2066}"..."\u{2069}", "\u{FEFF}":
      true
    default: false
    }
  }

  /// The escape with four digits. None of the characters that are escaped needs two of them.
  private static func jsonEscape(of scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// Copies what stays in pieces that are as long as possible.
  private static func replacing(in text: String, _ replacement: (Unicode.Scalar) -> String?) -> String {
    let scalars = text.unicodeScalars
    var result = ""
    var start = scalars.startIndex
    for index in scalars.indices {
      guard let replacement = replacement(scalars[index]) else { continue }
      result += text[start..<index]
      result += replacement
      start = scalars.index(after: index)
    }
    return start == scalars.startIndex ? text : result + text[start...]
  }
}
