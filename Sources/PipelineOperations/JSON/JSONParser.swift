import Foundation

/// Parses JSON as RFC 8259 defines it, in UTF-8. Foundation's parsers on Linux do not say at which
/// byte a mistake is.
struct JSONParser {
  struct Mistake: Error {
    let code: JSONSyntaxError.Code
    let offset: Int
    let reason: String
  }

  /// The same limit as Foundation's. Code that visits values by recursion needs a stack for it.
  static let maxDepth = 512

  let bytes: UnsafeRawBufferPointer
  var position = 0

  private init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  static func parse(_ data: Data) throws(JSONSyntaxError) -> JSONValue {
    let result: Result<JSONValue, JSONSyntaxError> = data.withUnsafeBytes { bytes in
      var parser = JSONParser(bytes)
      do throws(Mistake) {
        return .success(try parser.document())
      } catch {
        return .failure(JSONSyntaxError(error, in: bytes))
      }
    }
    return try result.get()
  }

  /// What is wrong with the data; nil if it is JSON.
  static func firstMistake(in data: Data) -> JSONSyntaxError? {
    do throws(JSONSyntaxError) {
      _ = try parse(data)
      return nil
    } catch {
      return error
    }
  }

  // MARK: - Values

  private mutating func document() throws(Mistake) -> JSONValue {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    let value = try value()
    skipSpace()
    guard position == bytes.count else {
      throw mistake(.trailingContent, "the JSON has ended, but \(found) follows")
    }
    return value
  }

  /// An array or object whose end has not been read.
  private enum Container {
    case array([JSONValue])
    case object([String: JSONValue], name: String)

    /// What is expected next, in words.
    var expected: String {
      switch self {
      case .array: "a value"
      case .object(_, let name): "a value for “\(name)”"
      }
    }
  }

  /// A loop with a list of open containers, and no recursion: threads may have small stacks.
  private mutating func value() throws(Mistake) -> JSONValue {
    var open: [Container] = []
    while true {
      guard var value = try beginning(in: &open) else { continue }
      // The end of a value may be the end of its container, too.
      while let container = open.popLast() {
        guard let whole = try end(of: container, with: value, in: &open) else { break }
        value = whole
      }
      if open.isEmpty { return value }
    }
  }

  /// Reads a value. Of a container it reads the beginning alone, adds it to the open ones, and
  /// returns nil.
  private mutating func beginning(in open: inout [Container]) throws(Mistake) -> JSONValue? {
    skipSpace()
    switch peek {
    case UInt8(ascii: "{"):
      try enter(depth: open.count)
      if skip("}") { return .object([:]) }
      open.append(.object([:], name: try name()))
      return nil
    case UInt8(ascii: "["):
      try enter(depth: open.count)
      if skip("]") { return .array([]) }
      open.append(.array([]))
      return nil
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case let byte? where byte == UInt8(ascii: "-") || JSONParser.isDigit(byte): return try number()
    default: throw unexpected(open.last?.expected ?? "a value")
    }
  }

  /// Adds a value to its container. Returns the container if it ends here; else that is open again.
  private mutating func end(
    of container: consuming Container, with value: JSONValue, in open: inout [Container]
  ) throws(Mistake) -> JSONValue? {
    switch consume container {
    case .array(var elements):
      elements.append(value)
      if skip(",") {
        open.append(.array(elements))
        return nil
      }
      guard skip("]") else { throw unexpected("a comma or the end of the array") }
      return .array(elements)
    case .object(var members, let name):
      members[name] = value
      if skip(",") {
        open.append(.object(members, name: try self.name()))
        return nil
      }
      guard skip("}") else { throw unexpected("a comma or the end of the object") }
      return .object(members)
    }
  }

  private mutating func enter(depth: Int) throws(Mistake) {
    guard depth < JSONParser.maxDepth else {
      throw mistake(.tooDeep, "arrays and objects are nested more than \(JSONParser.maxDepth) deep")
    }
    position += 1
  }

  private mutating func name() throws(Mistake) -> String {
    skipSpace()
    guard peek == UInt8(ascii: "\"") else { throw unexpected("a name in quotation marks") }
    let name = try string()
    guard skip(":") else { throw unexpected("a colon after the name “\(name)”") }
    return name
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Mistake) -> JSONValue {
    for index in 0..<word.utf8CodeUnitCount {
      guard peek == word.utf8Start[index] else { throw unexpected("“\(word)”") }
      position += 1
    }
    return value
  }

  // MARK: - Bytes

  /// The next byte; nil at the end.
  var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  /// Skips space, and a character if it comes next. Returns whether it did.
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard peek == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  func mistake(_ code: JSONSyntaxError.Code, at offset: Int? = nil, _ reason: String) -> Mistake {
    Mistake(code: code, offset: offset ?? position, reason: reason)
  }

  /// A mistake: something else was expected here.
  func unexpected(_ expected: String) -> Mistake {
    guard peek != nil else { return mistake(.unexpectedEnd, "it ends where \(expected) is expected") }
    return mistake(.unexpectedCharacter, "\(expected) is expected, but \(found) was found")
  }

  /// What comes next, in words.
  private var found: String {
    guard let byte = peek else { return "the end" }
    guard byte >= 0x20, byte != 0x7F else { return "a control character (\(byte))" }
    // A character has four bytes at most.
    let start = String(decoding: bytes[position..<min(position + 4, bytes.count)], as: UTF8.self)
    return start.unicodeScalars.first.map { $0 == "\u{FFFD}" ? "a byte that is not UTF-8" : "“\($0)”" } ?? "the end"
  }
}
