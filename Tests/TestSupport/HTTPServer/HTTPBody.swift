/// The event that an answer, or a piece of one, waits for.
enum HTTPHold: Sendable {
  case none
  case gate(Gate)
  case time(Duration)
}

/// A part of a body, sent when its gate is open or its time has come.
public struct HTTPPiece: Sendable {
  let bytes: [UInt8]
  var hold = HTTPHold.none

  /// A piece that is sent as soon as those before it were.
  public init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// A piece of these bytes.
  public init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The same piece, sent when `gate` is open.
  public func held(by gate: Gate) -> HTTPPiece {
    var piece = self
    piece.hold = .gate(gate)
    return piece
  }

  /// The same piece, sent `delay` after the one before it by a timer of the server.
  public func delayed(by delay: Duration) -> HTTPPiece {
    var piece = self
    piece.hold = .time(delay)
    return piece
  }
}

/// A body as pieces, which are made when they are sent.
struct HTTPBody: Sendable {
  let pieceCount: Int
  let byteCount: Int
  /// Whether it is sent as chunks, without a length.
  var isChunked = false
  /// After how many bytes the connection is closed; nil if the body is sent whole.
  var sentByteCount: Int?
  let piece: @Sendable (_ index: Int) -> HTTPPiece

  init(_ bytes: [UInt8]) {
    self.init([HTTPPiece(bytes: bytes)])
  }

  init(_ pieces: [HTTPPiece]) {
    pieceCount = pieces.count
    byteCount = pieces.reduce(0) { $0 + $1.bytes.count }
    piece = { pieces[$0] }
  }

  private init(pieceCount: Int, byteCount: Int, piece: @escaping @Sendable (Int) -> HTTPPiece) {
    self.pieceCount = pieceCount
    self.byteCount = byteCount
    self.piece = piece
  }

  /// A body that never ends, sent without chunks and without a length.
  static func endless(_ head: [UInt8], _ piece: HTTPPiece) -> HTTPBody {
    HTTPBody(pieceCount: .max, byteCount: .max) { $0 == 0 ? HTTPPiece(bytes: head) : piece }
  }

  static func large(byteCount: Int) -> HTTPBody {
    let pieceSize = 64 * 1024
    return HTTPBody(pieceCount: (byteCount + pieceSize - 1) / pieceSize, byteCount: byteCount) { index in
      let start = index * pieceSize
      return HTTPPiece(bytes: (start..<min(start + pieceSize, byteCount)).map(HTTPAnswer.largeByte))
    }
  }
}

/// The position in an answer: which pieces remain to be sent, and their bytes on the wire.
struct HTTPBodyCursor {
  private let body: HTTPBody
  private var index = 0
  private var budget: Int

  init(_ body: HTTPBody) {
    self.body = body
    budget = body.sentByteCount ?? .max
  }

  /// Whether nothing is left to send.
  var isAtEnd: Bool { index >= body.pieceCount || budget <= 0 }

  /// Whether the client was promised more than it got.
  var isCutShort: Bool { body.sentByteCount != nil }

  mutating func next() -> HTTPPiece? {
    guard !isAtEnd else { return nil }
    defer { index += 1 }
    return body.piece(index)
  }

  /// The piece as it goes over the wire, with what ends the body after the last one.
  mutating func framed(_ piece: HTTPPiece) -> [UInt8] {
    let bytes = Array(piece.bytes.prefix(budget))
    if budget != .max { budget -= bytes.count }
    guard body.isChunked else { return bytes }
    var chunk = bytes.isEmpty ? [] : Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    if isAtEnd, !isCutShort { chunk += Array("0\r\n\r\n".utf8) }
    return chunk
  }
}
