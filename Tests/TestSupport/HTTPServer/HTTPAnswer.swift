/// What the server does with one request: answers, now or later, or drops the connection.
public struct HTTPAnswer: Sendable {
  enum Content: Sendable {
    case response(status: Int, headers: [(String, String)], body: [UInt8])
    case drop
  }

  enum Hold: Sendable {
    case none
    case gate(Gate)
    case time(Duration)
  }

  let content: Content
  var hold = Hold.none

  /// Answers with a status, further header fields and a body. `Content-Length` and `Connection` are added.
  public static func status(_ status: Int, headers: [(String, String)] = [], body: String = "") -> HTTPAnswer {
    HTTPAnswer(content: .response(status: status, headers: headers, body: Array(body.utf8)))
  }

  /// Answers with status 200 and a body.
  public static func ok(_ body: String = "ok\n") -> HTTPAnswer {
    .status(200, headers: [("Content-Type", "text/html; charset=utf-8")], body: body)
  }

  /// Sends the client to another address.
  public static func redirect(to location: String, status: Int = 302) -> HTTPAnswer {
    .status(status, headers: [("Location", location)])
  }

  /// Refuses for now, and says after how long to ask again when `after` is given, as seconds or as an HTTP date.
  public static func retryLater(status: Int = 429, after: String? = nil) -> HTTPAnswer {
    .status(status, headers: after.map { [("Retry-After", $0)] } ?? [])
  }

  /// Closes the connection without a word.
  public static let drop = HTTPAnswer(content: .drop)

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

  /// The bytes of the response to a request of `method`. A `HEAD` gets the header fields only.
  func bytes(for method: String, keepsConnection: Bool) -> [UInt8] {
    guard case .response(let status, let headers, let body) = content else { return [] }
    var head = "HTTP/1.1 \(status) \(Self.reason(of: status))\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    head += "Content-Length: \(body.count)\r\n"
    head += "Connection: \(keepsConnection ? "keep-alive" : "close")\r\n\r\n"
    let hasBody = method != "HEAD" && status != 204 && status != 304
    return Array(head.utf8) + (hasBody ? body : [])
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
