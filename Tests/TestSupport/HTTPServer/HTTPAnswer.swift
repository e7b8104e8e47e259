/// What the server does with one request: answers, at once or in pieces, whole or cut short, or
/// drops the connection.
public struct HTTPAnswer: Sendable {
  enum Content: Sendable {
    case response(status: Int, headers: [(String, String)], body: HTTPBody)
    case raw(HTTPBody)
    case drop
    case reset
  }

  var content: Content
  var hold = HTTPHold.none
  /// Whether the connection is reset at the end instead of closed.
  var endsWithReset = false

  /// Answers with a status, further header fields and a body. `Content-Length` and `Connection` are
  /// added.
  public static func status(_ status: Int, headers: [(String, String)] = [], body: String = "") -> HTTPAnswer {
    .status(status, headers: headers, bytes: Array(body.utf8))
  }

  /// Answers with a status, further header fields and a body of bytes. `Content-Length` and
  /// `Connection` are added.
  public static func status(_ status: Int, headers: [(String, String)] = [], bytes: [UInt8]) -> HTTPAnswer {
    HTTPAnswer(content: .response(status: status, headers: headers, body: HTTPBody(bytes)))
  }

  /// Answers with status 200 and a body.
  public static func ok(_ body: String = "ok\n") -> HTTPAnswer {
    .status(200, headers: [("Content-Type", "text/html; charset=utf-8")], body: body)
  }

  /// Answers with a body that comes in pieces, each when its gate is open or its time has come.
  ///
  /// - Parameter isChunked: whether the body has no length, and is sent as chunks, a piece each.
  public static func pieces(
    _ pieces: [HTTPPiece], status: Int = 200, headers: [(String, String)] = [], isChunked: Bool = true
  ) -> HTTPAnswer {
    var body = HTTPBody(pieces)
    body.isChunked = isChunked
    return HTTPAnswer(content: .response(status: status, headers: headers, body: body))
  }

  /// Answers with a body of this many bytes, which is never in memory as a whole: byte `n` is
  /// `HTTPAnswer.largeByte(n)`.
  public static func large(byteCount: Int) -> HTTPAnswer {
    HTTPAnswer(content: .response(status: 200, headers: [], body: .large(byteCount: byteCount)))
  }

  /// Byte `n` of every large body: different everywhere, so that a swap or a loss is noticed.
  public static func largeByte(_ n: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: n &* 31 &+ (n >> 8) &* 7 &+ (n >> 16) &* 13)
  }

  /// Answers with a header field of this many bytes.
  public static func hugeHeader(byteCount: Int) -> HTTPAnswer {
    .status(200, headers: [("X-Huge", String(repeating: "h", count: byteCount))], body: "after the header")
  }

  /// Sends this text unchanged, and closes the connection: for invalid answers.
  public static func raw(_ text: String) -> HTTPAnswer {
    .raw(Array(text.utf8))
  }

  /// Sends these bytes as they are, and closes the connection.
  public static func raw(_ bytes: [UInt8]) -> HTTPAnswer {
    HTTPAnswer(content: .raw(HTTPBody(bytes)))
  }

  /// Sends bytes unchanged, piece by piece, each when its gate is open or its time has come, and
  /// closes the connection.
  public static func raw(_ pieces: [HTTPPiece]) -> HTTPAnswer {
    HTTPAnswer(content: .raw(HTTPBody(pieces)))
  }

  /// Sends bytes as they are, then a piece again and again, each when its time has come, until the
  /// client closes the connection.
  public static func endless(_ head: String, then piece: HTTPPiece) -> HTTPAnswer {
    HTTPAnswer(content: .raw(.endless(Array(head.utf8), piece)))
  }

  /// Sends the client to another address.
  public static func redirect(to location: String, status: Int = 302) -> HTTPAnswer {
    .status(status, headers: [("Location", location)])
  }

  /// Refuses for now, with a `Retry-After` if `after` is given, as seconds or as an HTTP date.
  public static func retryLater(status: Int = 429, after: String? = nil) -> HTTPAnswer {
    .status(status, headers: after.map { [("Retry-After", $0)] } ?? [])
  }

  /// Closes the connection without an answer.
  public static let drop = HTTPAnswer(content: .drop)

  /// Resets the connection, so that the client sees an error and not an end.
  public static let reset = HTTPAnswer(content: .reset)

  /// The same answer, given when `gate` is open.
  public func held(by gate: Gate) -> HTTPAnswer {
    var answer = self
    answer.hold = .gate(gate)
    return answer
  }

  /// The same answer, given after `delay` by a timer of the server.
  public func delayed(by delay: Duration) -> HTTPAnswer {
    var answer = self
    answer.hold = .time(delay)
    return answer
  }

  /// The same answer, but the connection is closed after this many bytes of the body. The header
  /// fields promise all of it.
  public func cutShort(after byteCount: Int) -> HTTPAnswer {
    guard case .response(let status, let headers, var body) = content else { return self }
    body.sentByteCount = byteCount
    var answer = self
    answer.content = .response(status: status, headers: headers, body: body)
    return answer
  }

  /// The same bytes, but the connection is reset instead of closed, once the client's system has
  /// all of them.
  public func thenReset() -> HTTPAnswer {
    var answer = self
    answer.endsWithReset = true
    return answer
  }

  static func head(status: Int, headers: [(String, String)], body: HTTPBody, keepsConnection: Bool) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(reason(of: status))\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    head += body.isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(body.byteCount)\r\n"
    head += "Connection: \(keepsConnection ? "keep-alive" : "close")\r\n\r\n"
    return Array(head.utf8)
  }

  private static func reason(of status: Int) -> String {
    switch status {
    case 200..<300: "Fine"
    case 300..<400: "Elsewhere"
    case 400..<500: "Refused"
    default: "Failed"
    }
  }
}
