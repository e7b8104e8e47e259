import Foundation

/// A request, as far as the server needs it.
struct ServerRequest: Equatable, Sendable {
  var method: String
  /// The path and the query, as they came.
  var target: String
  /// By their names in lower case.
  var headers: [String: String] = [:]

  /// The request that the bytes of a connection begin with; nil as long as it is not complete.
  ///
  /// - Throws: ``Malformed`` if it never will be one.
  static func read(_ bytes: [UInt8]) throws(Malformed) -> ServerRequest? {
    let end: [UInt8] = [13, 10, 13, 10]
    guard let headEnd = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else {
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
    // The body says nothing here, but a connection that is closed before it was read loses the answer.
    let bodyLength = request.headers["content-length"].map { Int($0) ?? -1 } ?? 0
    guard (0...16_384).contains(bodyLength) else { throw Malformed() }
    return bytes.count >= headEnd + end.count + bodyLength ? request : nil
  }

  struct Malformed: Error {}

  var path: String { String(target.prefix { $0 != "?" }) }

  /// The value of an item of the query, decoded.
  func query(_ name: String) -> String? {
    URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
  }
}

/// What a request is answered with.
struct ServerAnswer: Equatable, Sendable {
  var status: Int
  var headers: [String: String] = [:]
  var body = Data()

  /// An answer in JSON.
  static func json(_ value: some Encodable, status: Int = 200, headers: [String: String] = [:]) -> ServerAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // What this server answers can be encoded.
    let body = (try? encoder.encode(value)) ?? Data()
    return ServerAnswer(
      status: status, headers: headers.merging(["Content-Type": "application/json"]) { own, _ in own }, body: body)
  }

  static func problem(_ status: Int, _ reason: String, headers: [String: String] = [:]) -> ServerAnswer {
    json(ProblemAnswer(reason: reason), status: status, headers: headers)
  }

  /// What is sent.
  var bytes: [UInt8] {
    let reasons = [
      200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
      503: "Service Unavailable",
    ]
    var head = "HTTP/1.1 \(status) \(reasons[status] ?? "Unknown")\r\n"
    let all = headers.merging(["Content-Length": "\(body.count)", "Connection": "close"]) { _, own in own }
    for (name, value) in all.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    return Array((head + "\r\n").utf8) + body
  }
}
