/// Cuts requests out of the bytes of one connection.
///
/// It knows what a test needs: a request line, header fields and a body of a known length, which is skipped.
struct HTTPRequestParser {
  private var buffer: [UInt8] = []

  /// A head longer than this is no request of ours.
  private static let longestHead = 64 * 1024

  enum Result: Equatable {
    case incomplete
    case request(HTTPRequest)
    case malformed
  }

  mutating func append(_ bytes: some Sequence<UInt8>) {
    buffer.append(contentsOf: bytes)
  }

  /// The next whole request, taken out of the buffer.
  mutating func next() -> Result {
    guard let headEnd = endOfHead else { return buffer.count > Self.longestHead ? .malformed : .incomplete }
    let lines = String(decoding: buffer[..<headEnd], as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false)
    let requestLine = lines[0].split(separator: " ")
    guard requestLine.count == 3, requestLine[2].hasPrefix("HTTP/1.") else { return .malformed }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return .malformed }
      let name = line[..<colon].lowercased()
      let value = String(line[line.index(after: colon)...].drop { $0 == " " })
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    let bodyLength = headers["content-length"].flatMap { Int($0) } ?? 0
    let end = headEnd + 4 + bodyLength
    guard bodyLength >= 0 else { return .malformed }
    guard buffer.count >= end else { return .incomplete }
    buffer.removeFirst(end)
    return .request(HTTPRequest(method: String(requestLine[0]), path: String(requestLine[1]), headers: headers))
  }

  /// Where the empty line after the header fields begins.
  private var endOfHead: Int? {
    let mark = Array("\r\n\r\n".utf8)
    guard buffer.count >= mark.count else { return nil }
    return (0...buffer.count - mark.count).first { buffer[$0..<$0 + mark.count].elementsEqual(mark) }
  }
}
