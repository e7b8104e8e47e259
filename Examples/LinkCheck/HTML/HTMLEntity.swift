/// Character references: `&amp;`, `&#38;`, `&#x26;`.
enum HTMLEntity {
  /// What the reference at `start`, where an ampersand stands, means, and where it ends. Nil when
  /// it is none.
  static func decoded(in bytes: ArraySlice<UInt8>, at start: Int) -> (text: String, end: Int)? {
    let name = bytes[(start + 1)...].prefix(32).prefix { $0.isLetterOrDigit || $0 == .hash }
    guard name.endIndex < bytes.endIndex, bytes[name.endIndex] == .semicolon,
      let text = text(of: name.text)
    else { return nil }
    return (text, name.endIndex + 1)
  }

  /// `text` with every reference replaced by what it means.
  static func decoding(_ bytes: ArraySlice<UInt8>) -> String {
    guard bytes.contains(.ampersand) else { return bytes.text }
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] == .ampersand, let (text, end) = decoded(in: bytes, at: index) {
        result.append(contentsOf: text.utf8)
        index = end
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return result.text
  }

  private static func text(of name: String) -> String? {
    guard name.hasPrefix("#") else { return named[name] }
    let number = name.dropFirst()
    let isHex = number.first == "x" || number.first == "X"
    guard let code = UInt32(isHex ? number.dropFirst() : number, radix: isHex ? 16 : 10) else { return nil }
    // The standard has a replacement character stand for what is no character.
    return Unicode.Scalar(code).map { code == 0 ? "\u{FFFD}" : String(Character($0)) } ?? "\u{FFFD}"
  }

  /// The names that are met in addresses and headings: the special characters, Latin letters, and
  /// common marks.
  private static let named: [String: String] = {
    var names = [
      "amp": "&", "AMP": "&", "lt": "<", "LT": "<", "gt": ">", "GT": ">", "quot": "\"", "QUOT": "\"", "apos": "'",
      "Tab": "\t", "NewLine": "\n", "excl": "!", "num": "#", "dollar": "$", "percnt": "%", "lpar": "(", "rpar": ")",
      "ast": "*", "plus": "+", "comma": ",", "period": ".", "sol": "/", "colon": ":", "semi": ";", "equals": "=",
      "quest": "?", "commat": "@", "lsqb": "[", "lbrack": "[", "bsol": "\\", "rsqb": "]", "rbrack": "]", "Hat": "^",
      "lowbar": "_", "grave": "`", "lcub": "{", "lbrace": "{", "verbar": "|", "vert": "|", "rcub": "}", "rbrace": "}",
      "ndash": "–", "mdash": "—", "lsquo": "‘", "rsquo": "’", "sbquo": "‚", "ldquo": "“", "rdquo": "”", "bdquo": "„",
      "dagger": "†", "Dagger": "‡", "bull": "•", "hellip": "…", "permil": "‰", "prime": "′", "Prime": "″",
      "lsaquo": "‹", "rsaquo": "›", "euro": "€", "trade": "™", "larr": "←", "uarr": "↑", "rarr": "→", "darr": "↓",
      "harr": "↔", "rArr": "⇒", "hArr": "⇔", "infin": "∞", "ne": "≠", "le": "≤", "ge": "≥", "asymp": "≈", "minus": "−",
      "OElig": "Œ", "oelig": "œ", "Scaron": "Š", "scaron": "š", "Yuml": "Ÿ", "fnof": "ƒ", "check": "✓", "star": "☆",
      "ensp": "\u{2002}", "emsp": "\u{2003}", "thinsp": "\u{2009}", "zwnj": "\u{200C}", "zwj": "\u{200D}",
    ]
    // The names of U+00A0 to U+00FF, in order.
    let latin = """
      nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro
      para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil
      Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave
      Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml
      igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute
      thorn yuml
      """
    for (offset, name) in latin.split(whereSeparator: \.isWhitespace).enumerated() {
      names[String(name)] = Unicode.Scalar(0xA0 + UInt32(offset)).map { String(Character($0)) }
    }
    return names
  }()
}
