/// Cuts requests out of the bytes of one connection.
///
/// It knows what a test needs: a request line, header fields and a body of a known length.
struct HTTPRequestParser {
  private struct Head {
    let method: String
    let path: String
    let headers: [String: String]
    let bodyLength: Int
  }

  /// Whether a request is whole when its body has come, or upon its header.
  let readsBodies: Bool
  private var buffer: [UInt8] = []
  /// The head of the request whose body is being read.
  private var head: Head?
  /// Up to where the buffer was searched for the end of a head.
  private var searched = 0
  private var answersExpectation = false

  /// A head longer than this is no request of a test.
  private static let longestHead = 64 * 1024

  enum Result: Equatable {
    case incomplete
    case request(HTTPRequest)
    case malformed
  }

  init(readsBodies: Bool) {
    self.readsBodies = readsBodies
  }

  mutating func append(_ bytes: some Sequence<UInt8>) {
    buffer.append(contentsOf: bytes)
  }

  /// The next whole request, taken out of the buffer.
  mutating func next() -> Result {
    if head == nil {
      guard let headEnd = endOfHead() else { return buffer.count > Self.longestHead ? .malformed : .incomplete }
      guard let head = Self.head(buffer[..<headEnd]) else { return .malformed }
      self.head = head
      answersExpectation = head.headers["expect"]?.lowercased() == "100-continue"
      buffer.removeFirst(headEnd + 4)
      searched = 0
    }
    let bodyLength = readsBodies ? head?.bodyLength ?? 0 : 0
    guard let head, buffer.count >= bodyLength else { return .incomplete }
    self.head = nil
    answersExpectation = false
    let body = Array(buffer.prefix(bodyLength))
    buffer.removeFirst(bodyLength)
    return .request(HTTPRequest(method: head.method, path: head.path, headers: head.headers, body: body))
  }

  /// Returns true once for each request whose client waits for `100 Continue`.
  mutating func takeExpectation() -> Bool {
    defer { answersExpectation = false }
    return answersExpectation
  }

  private static func head(_ bytes: ArraySlice<UInt8>) -> Head? {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
    let requestLine = lines[0].split(separator: " ")
    guard requestLine.count == 3, requestLine[2].hasPrefix("HTTP/1.") else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let name = line[..<colon].lowercased()
      let value = String(line[line.index(after: colon)...].drop { $0 == " " })
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    let bodyLength = headers["content-length"].flatMap { Int($0) } ?? 0
    guard bodyLength >= 0, headers["transfer-encoding"] == nil else { return nil }
    return Head(method: String(requestLine[0]), path: String(requestLine[1]), headers: headers, bodyLength: bodyLength)
  }

  /// Where the empty line after the header fields begins.
  private mutating func endOfHead() -> Int? {
    let mark: [UInt8] = [13, 10, 13, 10]
    guard buffer.count >= searched + mark.count else { return nil }
    let end = (searched...buffer.count - mark.count).first {
      buffer[$0] == 13 && buffer[$0..<$0 + 4].elementsEqual(mark)
    }
    searched = max(0, buffer.count - mark.count + 1)
    return end
  }
}
