// Strings and numbers.

extension JSONParser {
  // MARK: - Strings

  mutating func string() throws(Mistake) -> String {
    position += 1
    var text = ""
    var start = position
    while true {
      switch peek {
      case UInt8(ascii: "\""):
        text += try decoded(start..<position)
        position += 1
        return text
      case UInt8(ascii: "\\"):
        text += try decoded(start..<position)
        text.unicodeScalars.append(try escape())
        start = position
      case nil:
        _ = try decoded(start..<position)
        throw mistake(.unexpectedEnd, "it ends inside of a string")
      case let byte? where byte < 0x20:
        _ = try decoded(start..<position)
        throw mistake(.invalidString, "a string has a control character (\(byte)), which has to be escaped")
      case _?:
        position += 1
      }
    }
  }

  private func decoded(_ range: Range<Int>) throws(Mistake) -> String {
    let slice = bytes[range]
    if let text = String(validating: slice, as: UTF8.self) { return text }
    var offset = range.lowerBound
    var iterator = slice.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    while case .valid(let scalar) = parser.parseScalar(from: &iterator) { offset += scalar.count }
    throw mistake(.invalidEncoding, at: offset, "a string has bytes that are not UTF-8")
  }

  private mutating func escape() throws(Mistake) -> Unicode.Scalar {
    let start = position
    position += 1
    guard let byte = peek else { throw mistake(.unexpectedEnd, "it ends inside of a string") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape(from: start)
    default:
      throw mistake(.invalidString, at: start, "a string has an escape that JSON does not know")
    }
  }

  private mutating func unicodeEscape(from start: Int) throws(Mistake) -> Unicode.Scalar {
    let first = try hexadecimal(from: start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    // This is half of a pair: the other half has to follow.
    if UTF16.isLeadSurrogate(first), peek == UInt8(ascii: "\\") {
      position += 1
      if peek == UInt8(ascii: "u") {
        position += 1
        let second = try hexadecimal(from: position - 2)
        if UTF16.isTrailSurrogate(second) { return UTF16.decode(UTF16.EncodedScalar([first, second])) }
      }
    }
    throw mistake(.invalidString, at: start, "a string has half of a pair of surrogates")
  }

  private mutating func hexadecimal(from start: Int) throws(Mistake) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek else { throw mistake(.unexpectedEnd, "it ends inside of a string") }
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw mistake(.invalidString, at: start, "“\\u” is not followed by four hexadecimal digits")
      }
      value = value << 4 | UInt16(digit)
      position += 1
    }
    return value
  }

  // MARK: - Numbers

  mutating func number() throws(Mistake) -> JSONValue {
    let start = position
    if peek == UInt8(ascii: "-") { position += 1 }
    if peek == UInt8(ascii: "0") {
      position += 1
      if let byte = peek, JSONParser.isDigit(byte) {
        throw mistake(.invalidNumber, "a number begins with a zero that is followed by digits")
      }
    } else {
      try digits("a digit")
    }
    var isInteger = true
    if peek == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      try digits("a digit after the decimal point")
    }
    if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
      isInteger = false
      position += 1
      if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
      try digits("a digit of the exponent")
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    // Integers have no negative zero.
    if isInteger, text != "-0", let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw mistake(.invalidNumber, at: start, "a number is too large")
    }
    return .number(value)
  }

  private mutating func digits(_ expected: String) throws(Mistake) {
    guard let byte = peek else { throw mistake(.unexpectedEnd, "it ends where \(expected) is expected") }
    guard JSONParser.isDigit(byte) else { throw mistake(.invalidNumber, "\(expected) is expected in a number") }
    while let byte = peek, JSONParser.isDigit(byte) { position += 1 }
  }

  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
