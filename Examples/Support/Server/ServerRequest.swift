import Foundation

/// A request, as far as small servers need it.
package struct ServerRequest: Equatable, Sendable {
  package var method: String
  /// The path and the query, as they came.
  package var target: String
  /// By their names in lower case.
  package var headers: [String: String]
  package var body: [UInt8]

  package init(method: String, target: String, headers: [String: String] = [:], body: [UInt8] = []) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The request that the bytes of a connection begin with; nil as long as it is not complete.
  ///
  /// - Throws: ``Malformed`` if it never will be one.
  package static func read(_ bytes: [UInt8], longestBody: Int = 16_384) throws(Malformed) -> ServerRequest? {
    let end: [UInt8] = [13, 10, 13, 10]
    guard let headEnd = bytes.indices.prefix(16_384).first(where: { bytes[$0...].starts(with: end) }) else {
      guard bytes.count < 16_384 else { throw Malformed() }
      return nil
    }
    let lines = String(decoding: bytes[..<headEnd], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { throw Malformed() }
    var request = ServerRequest(method: String(words[0]), target: String(words[1]))
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw Malformed() }
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      request.headers[line[..<colon].lowercased()] = value
    }
    // A connection that is closed before the body was read loses the answer, also where the body
    // says nothing.
    let length = request.headers["content-length"].map { Int($0) ?? -1 } ?? 0
    guard (0...longestBody).contains(length) else { throw Malformed() }
    let body = bytes[(headEnd + end.count)...]
    guard body.count >= length else { return nil }
    request.body = Array(body.prefix(length))
    return request
  }

  package struct Malformed: Error {}

  package var path: String { String(target.prefix { $0 != "?" }) }

  /// The value of an item of the query, decoded.
  package func query(_ name: String) -> String? {
    URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
  }
}

/// What a request is answered with.
package struct ServerAnswer: Equatable, Sendable {
  package var status: Int
  package var headers: [String: String]
  package var body: Data
  /// How long the answer takes.
  package var delay: TimeInterval = 0
  /// Whether the connection ends without it.
  package var isDropped = false

  package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// An answer in JSON.
  package static func json(_ value: some Encodable, status: Int = 200, headers: [String: String] = [:]) -> ServerAnswer
  {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // What these servers answer can be encoded.
    let body = (try? encoder.encode(value)) ?? Data()
    return ServerAnswer(
      status: status, headers: headers.merging(["Content-Type": "application/json"]) { own, _ in own }, body: body)
  }

  package static func problem(_ status: Int, _ reason: String, headers: [String: String] = [:]) -> ServerAnswer {
    json(ServerProblem(reason: reason), status: status, headers: headers)
  }

  /// What is sent.
  package var bytes: [UInt8] {
    let reasons = [
      200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
      409: "Conflict", 500: "Internal Server Error", 503: "Service Unavailable",
    ]
    var head = "HTTP/1.1 \(status) \(reasons[status] ?? "Unknown")\r\n"
    let all = headers.merging(["Content-Length": "\(body.count)", "Connection": "close"]) { _, own in own }
    for (name, value) in all.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    return Array((head + "\r\n").utf8) + body
  }
}

/// What stands in the body of an answer that is none.
package struct ServerProblem: Codable, Equatable, Sendable {
  package var error = true
  package var reason: String

  package init(reason: String) {
    self.reason = reason
  }
}
