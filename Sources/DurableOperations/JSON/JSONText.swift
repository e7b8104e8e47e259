import Foundation

/// Growing JSON text in one buffer.
///
/// It is no array: an array checks on each appended byte whether it has to be copied first.
struct JSONText: ~Copyable {
  /// The special characters of a quoted text.
  struct Contents: OptionSet {
    let rawValue: UInt8
    /// Characters that JSON escapes.
    static let escapes = Contents(rawValue: 1)
    /// Characters outside ASCII.
    static let wide = Contents(rawValue: 0x80)
  }

  private var start: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  private(set) var capacity = 256

  init() {
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  // MARK: - Reading

  /// The text, until it is changed.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

  func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[range]) }

  var data: Data { Data(bytes: start, count: count) }

  var string: String { String(decoding: bytes, as: UTF8.self) }

  // MARK: - Writing

  mutating func append(byte: UInt8) {
    reserve(1)
    start[count] = byte
    count += 1
  }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let first = bytes.baseAddress else { return }
    reserve(bytes.count)
    (start + count).update(from: first, count: bytes.count)
    count += bytes.count
  }

  /// Appends text that is JSON.
  mutating func append(json: StaticString) {
    append(UnsafeBufferPointer(start: json.utf8Start, count: json.utf8CodeUnitCount))
  }

  /// Appends text that is JSON.
  mutating func append(json: String) {
    var json = json
    json.withUTF8 { append($0) }
  }

  mutating func append(_ value: Bool) { append(json: value ? "true" : "false") }

  mutating func append(_ number: some FixedWidthInteger) {
    if number < 0 { append(byte: UInt8(ascii: "-")) }
    // Digits are produced from the last to the first. 128 bits have 39 of them.
    reserve(39)
    let first = count
    var rest = number.magnitude
    repeat {
      let (tens, digit) = rest.quotientAndRemainder(dividingBy: 10)
      start[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
      count += 1
      rest = tens
    } while rest != 0
    var digits = UnsafeMutableBufferPointer(start: start + first, count: count - first)
    digits.reverse()
  }

  /// Appends the shortest number that reads back as the same value. Returns false, and appends
  /// nothing, if there is none.
  mutating func append(_ number: some BinaryFloatingPoint & CustomStringConvertible) -> Bool {
    guard number.isFinite else { return false }
    append(json: number.description)
    if bytes.suffix(2).elementsEqual(".0".utf8) { count -= 2 }
    return true
  }

  /// Appends a quoted text, with escapes only where JSON requires them.
  @discardableResult
  mutating func append(quoted text: String) -> Contents {
    var text = text
    return text.withUTF8 { text in
      // Many bytes at a time: no byte depends on the one before.
      let contents = text.reduce(into: UInt8(0)) { contents, byte in
        contents |= (byte < 0x20 ? 1 : 0) | (byte == ._quote ? 1 : 0) | (byte == ._backslash ? 1 : 0) | byte & 0x80
      }
      append(byte: ._quote)
      if contents & 1 == 0 { append(text) } else { appendEscaped(text) }
      append(byte: ._quote)
      return Contents(rawValue: contents)
    }
  }

  private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
    var rest = text[...]
    while let index = rest.firstIndex(where: { $0 < 0x20 || $0 == ._quote || $0 == ._backslash }) {
      append(UnsafeBufferPointer(rebasing: rest[..<index]))
      append(escapeOf: rest[index])
      rest = rest[(index + 1)...]
    }
    append(UnsafeBufferPointer(rebasing: rest))
  }

  private mutating func append(escapeOf byte: UInt8) {
    let short: UInt8
    switch byte {
    case ._quote, ._backslash: short = byte
    case 0x08: short = UInt8(ascii: "b")
    case 0x09: short = UInt8(ascii: "t")
    case 0x0A: short = UInt8(ascii: "n")
    case 0x0C: short = UInt8(ascii: "f")
    case 0x0D: short = UInt8(ascii: "r")
    default: return append(escapeOf: UInt16(byte))
    }
    append(byte: ._backslash)
    append(byte: short)
  }

  /// Appends the escape with four digits.
  private mutating func append(escapeOf unit: UInt16) {
    append(json: #"\u"#)
    for shift in [12, 8, 4, 0] {
      let digit = UInt8(truncatingIfNeeded: unit >> shift & 0xF)
      append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  // MARK: - Changing what is written

  /// Keeps only the first bytes.
  mutating func cut(to newCount: Int) { count = newCount }

  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if capacity - count < more { grow(by: more) }
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: start, count: count)
    start.deallocate()
    start = larger
  }
}

extension UInt8 {
  static let _quote = UInt8(ascii: "\"")
  static let _backslash = UInt8(ascii: "\\")
}
