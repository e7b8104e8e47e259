import Foundation

/// Checks whether bytes are JSON.
struct JSONScanner {
  /// Whether the bytes are JSON in UTF-8.
  static func isJSON(_ data: Data) -> Bool {
    let isPlain = data.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes: bytes)
      return scanner.readsAll() && (!scanner.hasWideBytes || String(validating: bytes, as: UTF8.self) != nil)
    }
    if isPlain { return true }
    // `JSONSerialization` decides the doubtful cases: numbers that are too large, deep nesting,
    // lone surrogates.
    return String(validating: data, as: UTF8.self) != nil
      && (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
  }

  private static let maxDepth = 256

  private let bytes: UnsafeRawBufferPointer
  private var index = 0
  private var depth = 0
  private var hasWideBytes = false

  private init(bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  // All functions below return false if the text is not JSON, or is doubtful.

  private mutating func readsAll() -> Bool {
    guard readsValue() else { return false }
    skipSpace()
    return index == bytes.count
  }

  private mutating func readsValue() -> Bool {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return readsList(until: UInt8(ascii: "}")) { $0.readsMember() }
    case UInt8(ascii: "["): return readsList(until: UInt8(ascii: "]")) { $0.readsValue() }
    case UInt8(ascii: "\""): return readsText()
    case UInt8(ascii: "t"): return reads("true")
    case UInt8(ascii: "f"): return reads("false")
    case UInt8(ascii: "n"): return reads("null")
    default: return readsNumber()
    }
  }

  private mutating func readsList(until end: UInt8, _ readsItem: (inout JSONScanner) -> Bool) -> Bool {
    depth += 1
    guard depth <= Self.maxDepth else { return false }
    index += 1
    skipSpace()
    if !take(end) {
      repeat {
        guard readsItem(&self) else { return false }
        skipSpace()
      } while take(UInt8(ascii: ","))
      guard take(end) else { return false }
    }
    depth -= 1
    return true
  }

  private mutating func readsMember() -> Bool {
    skipSpace()
    guard next == UInt8(ascii: "\""), readsText() else { return false }
    skipSpace()
    return take(UInt8(ascii: ":")) && readsValue()
  }

  private mutating func readsText() -> Bool {
    index += 1
    while let byte = next, byte >= 0x20 {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return true
      case UInt8(ascii: "\\"): guard readsEscape() else { return false }
      case 0x80...: hasWideBytes = true
      default: break
      }
    }
    return false
  }

  private mutating func readsEscape() -> Bool {
    guard let byte = next else { return false }
    index += 1
    if byte != UInt8(ascii: "u") { return #"\"\/bfnrt"#.utf8.contains(byte) }
    guard bytes.count - index >= 4,
      let unit = UInt16(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16),
      next != UInt8(ascii: "+"), next != UInt8(ascii: "-")
    else { return false }
    index += 4
    return !UTF16.isSurrogate(unit)
  }

  private mutating func readsNumber() -> Bool {
    let start = index
    _ = take(UInt8(ascii: "-"))
    let isZero = next == UInt8(ascii: "0")
    let whole = skipDigits()
    guard whole > 0, whole == 1 || !isZero else { return false }
    if take(UInt8(ascii: ".")) { guard skipDigits() > 0 else { return false } }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard 1...2 ~= skipDigits() else { return false }
    }
    return index - start < 100
  }

  // MARK: - Bytes

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func reads(_ word: StaticString) -> Bool {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[index...].starts(with: word) else { return false }
    index += word.count
    return true
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { index += 1 }
  }

  private mutating func skipDigits() -> Int {
    let start = index
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
    return index - start
  }
}
