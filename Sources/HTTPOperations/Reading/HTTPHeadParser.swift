/// Reads the header of an answer line by line: the interim answers before it, itself, and the
/// fields after its body.
///
///     start ──status line──▶ fields ──empty line, 1xx──▶ start
///                              │
///                              └──empty line──▶ ended ──status line──▶ fields   (asked with a password)
///                                                 └──field──▶ ended             (a trailer, only counted)
///
/// Everything takes time in proportion to the bytes.
struct HTTPHeadParser {
  /// A header as it came.
  struct Head: Equatable {
    var status: Int
    var headers: HTTPHeaders
    /// Each `Set-Cookie` by itself: their values have commas.
    var cookies: [String] = []
    /// The length of the body as it is sent, if the server says it.
    var length: Int?
    /// Whether the connection takes many requests at once.
    var isMultiplexed = false
  }

  enum Mistake: Error, Equatable {
    /// The bytes are not a header of HTTP.
    case malformed(String)
    /// The header exceeds the limit.
    case tooLarge
  }

  private enum Phase {
    case start, fields, ended
  }

  private let limit: Int
  private var byteCount = 0
  private var phase = Phase.start
  private var status = 0
  private var isMultiplexed = false
  private var fields: [(name: String, value: [UInt8])] = []

  /// - Parameter limit: how many bytes all lines together may have.
  init(limit: Int) {
    self.limit = limit
  }

  /// Whether a header is complete, and none that follows it has begun.
  var hasEnded: Bool { phase == .ended }

  /// Takes a line, with or without its end. Returns the header when it is complete.
  mutating func take(_ line: some Collection<UInt8>) throws(Mistake) -> Head? {
    byteCount += line.count
    guard byteCount <= limit else { throw .tooLarge }
    let line = HTTPHeadParser.withoutEnd(line)
    switch phase {
    case .fields where line.isEmpty:
      return try end()
    case .fields:
      try takeField(line)
    case .ended where !line.starts(with: "HTTP/".utf8):
      break
    case .start, .ended:
      fields = []
      status = try HTTPHeadParser.status(of: line)
      isMultiplexed = line.starts(with: "HTTP/2".utf8) || line.starts(with: "HTTP/3".utf8)
      phase = .fields
    }
    return nil
  }

  private static func withoutEnd(_ line: some Collection<UInt8>) -> [UInt8] {
    var line = Array(line)
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  /// `HTTP/1.1 200 OK`; the reason may be missing, with the space before it.
  private static func status(of line: [UInt8]) throws(Mistake) -> Int {
    let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: true)
    guard line.starts(with: "HTTP/".utf8), parts.count >= 2, parts[1].count == 3,
      let status = Int(String(decoding: parts[1], as: UTF8.self)), status >= 100
    else { throw .malformed("its first line is “\(text(line.prefix(100)))”") }
    return status
  }

  private mutating func takeField(_ line: [UInt8]) throws(Mistake) {
    if line[0] == UInt8(ascii: " ") || line[0] == UInt8(ascii: "\t") {
      // The previous line goes on, as was once allowed.
      guard !fields.isEmpty else { throw .malformed("its first field has no name") }
      let last = fields.count - 1
      fields[last].value += [UInt8(ascii: " ")] + (try HTTPHeadParser.value(line[...], of: fields[last].name))
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw .malformed("the line “\(HTTPHeadParser.text(line.prefix(100)))” is no field")
    }
    let name = line[..<colon]
    guard !name.isEmpty, name.allSatisfy(HTTPHeaders.isNameCharacter) else {
      throw .malformed("“\(HTTPHeadParser.text(name.prefix(100)))” is no name of a field")
    }
    let text = String(decoding: name, as: UTF8.self)
    fields.append((text, try HTTPHeadParser.value(line[(colon + 1)...], of: text)))
  }

  /// The value of a line. No byte of it can begin a new line when it is sent again, as a cookie.
  private static func value(_ line: ArraySlice<UInt8>, of name: String) throws(Mistake) -> [UInt8] {
    guard !line.contains(0) else { throw .malformed("its field \(name) has a zero byte in it") }
    return trimmed(line).map { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }
  }

  private mutating func end() throws(Mistake) -> Head? {
    let isInterim = status < 200 && status != 101
    phase = isInterim ? .start : .ended
    let fields = self.fields
    self.fields = []
    guard !isInterim else { return nil }
    var values: [String: (name: String, values: [String])] = [:]
    for (name, value) in fields {
      values[name.lowercased(), default: (name, [])].values.append(HTTPHeadParser.text(value))
    }
    var headers: HTTPHeaders = [:]
    for (name, values) in values.values { headers[name] = values.joined(separator: ", ") }
    return Head(
      status: status, headers: headers, cookies: values["set-cookie"]?.values ?? [],
      // In chunks it has their length.
      length: values["transfer-encoding"] == nil
        ? try HTTPHeadParser.length(values["content-length"]?.values ?? []) : nil,
      isMultiplexed: isMultiplexed)
  }

  /// The length that the fields agree on. A length that is no `Int` is unknown.
  private static func length(_ values: [String]) throws(Mistake) -> Int? {
    guard let first = values.first else { return nil }
    guard values.allSatisfy({ $0 == first }), !first.isEmpty, first.utf8.allSatisfy({ (48...57).contains($0) }) else {
      throw .malformed("its Content-Length is “\(values.joined(separator: ", ").prefix(100))”")
    }
    return Int(first)
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    guard let first = bytes.firstIndex(where: { !isSpace($0) }) else { return [] }
    return bytes[first...bytes.lastIndex { !isSpace($0) }!]
  }

  /// UTF-8, or else Latin-1, in which every byte is a character.
  private static func text(_ bytes: some Collection<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
