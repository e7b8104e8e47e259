import CompositeOperations

/// Text as JSON that can also stand inside a page.
enum JSONText {
  /// The string in quotation marks.
  ///
  /// What could end a script or begin markup is written by number, and so are the two line ends that are none in JSON
  /// but are in older JavaScript.
  static func string(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "<", ">", "&", "'", "\u{2028}", "\u{2029}": result += escaped(scalar)
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += escaped(scalar)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
