#if os(Linux) || os(macOS)
/// The messages of one direction of a connection.
struct PostgresMessages {
  struct Message {
    let type: UInt8
    /// The relevant part of the body.
    let body: [UInt8]
    /// The index after its last byte, in the bytes of one call.
    let end: Int

    /// Whether it names a statement, or has its text.
    var isStatement: Bool { type == UInt8(ascii: "P") || type == UInt8(ascii: "B") }
    var isExecution: Bool { type == UInt8(ascii: "E") }
    /// Whether the server is ready for the next query.
    var isReadiness: Bool { type == UInt8(ascii: "Z") }

    func contains(_ words: [UInt8]) -> Bool {
      body.indices.contains { body[$0...].starts(with: words) }
    }
  }

  private static let mostOfBody = 4096
  /// The first message of a client has no type.
  private var isFirst: Bool
  private var header: [UInt8] = []
  private var body: [UInt8] = []
  /// How much of the body is still to come.
  private var left = 0

  init(isClient: Bool = false) {
    isFirst = isClient
  }

  /// The messages that have ended.
  mutating func take(_ bytes: ArraySlice<UInt8>) -> [Message] {
    var (messages, rest) = ([Message](), bytes)
    while !rest.isEmpty {
      let size = isFirst ? 4 : 5
      if header.count < size {
        header.append(rest.removeFirst())
        guard header.count == size else { continue }
        // The length counts itself.
        left = header.suffix(4).reduce(0) { $0 << 8 | Int($1) } - 4
      }
      let part = rest.prefix(left)
      body += part.prefix(max(Self.mostOfBody - body.count, 0))
      rest = rest.dropFirst(part.count)
      left -= part.count
      guard left == 0 else { continue }
      messages.append(Message(type: isFirst ? 0 : header[0], body: body, end: rest.startIndex - bytes.startIndex))
      (isFirst, header, body) = (false, [], [])
    }
    return messages
  }
}
#endif
