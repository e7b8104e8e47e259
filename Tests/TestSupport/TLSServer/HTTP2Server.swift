#if os(Linux) || os(macOS)
import CompositeOperationsTestKit
public import Foundation

/// A server on 127.0.0.1 that speaks HTTP/2, as far as tests need it, over OpenSSL. It has one
/// connection at a time: a client that makes a second one waits.
///
/// It answers nothing by itself: the test waits for ``requests`` and answers them.
public final class HTTP2Server: Sendable {
  /// The parts of a connection that tests send.
  public enum Frame: Sendable {
    /// Only the header of an answer with status 200.
    case ok
    case body(String, isLast: Bool)
    /// The answer ends here, with an error.
    case reset

    fileprivate func bytes(on stream: UInt32) -> [UInt8] {
      switch self {
      // The eighth entry of HPACK's table: “:status: 200”.
      case .ok: Wire.frame(1, flags: 4, stream, [0x88])
      case .body(let text, let isLast): Wire.frame(0, flags: isLast ? 1 : 0, stream, Array(text.utf8))
      case .reset: Wire.frame(3, flags: 0, stream, [0, 0, 0, 2])
      }
    }
  }

  /// The numbers of the streams that requests came on, in the order in which they came.
  public let requests = EventRecorder<UInt32>()

  private let server: TLSServer
  private let wire: Locked<Wire>

  /// Starts a server.
  public init() async throws {
    let (wire, requests) = (Locked(Wire()), requests)
    let own = Locked<TLSServer?>(nil)
    let server = try await TLSServer(speaking: "h2") { data in
      let (answer, streams) = wire.withLock { $0.take(data) }
      // There is no connection before the server exists.
      if !answer.isEmpty { own.withLock { $0 }?.say(answer) }
      for stream in streams { requests.record(stream) }
    }
    own.withLock { $0 = server }
    self.server = server
    self.wire = wire
    release = { own.withLock { $0 = nil } }
  }

  private let release: @Sendable () -> Void

  deinit {
    release()
  }

  /// The address of the server.
  public var url: String { server.url }
  /// Its certificate, to trust it.
  public var certificate: URL { server.certificate }

  /// Sends frames to a request.
  public func answer(_ stream: UInt32, _ frames: Frame...) {
    server.say(frames.flatMap { $0.bytes(on: stream) })
  }

  /// Cuts frames out of what OpenSSL prints.
  private struct Wire {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private var buffer: [UInt8] = []
    private var hasBegun = false

    static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

    static func frame(_ kind: UInt8, flags: UInt8, _ stream: UInt32, _ content: [UInt8]) -> [UInt8] {
      Array(number(UInt32(content.count)).dropFirst()) + [kind, flags] + number(stream) + content
    }

    /// Returns the bytes to send at once, and the streams of new requests.
    mutating func take(_ data: Data) -> (answer: [UInt8], requests: [UInt32]) {
      buffer += data
      var (answer, requests): ([UInt8], [UInt32]) = ([], [])
      if !hasBegun {
        // Before the first frame is what OpenSSL says of the connection.
        guard let start = buffer.firstRange(of: Self.preface) else { return ([], []) }
        buffer.removeFirst(start.upperBound)
        hasBegun = true
        answer += Self.frame(4, flags: 0, 0, [])
      }
      while buffer.count >= 9 {
        let length = buffer[..<3].reduce(0) { $0 << 8 | Int($1) }
        guard buffer.count >= 9 + length else { break }
        let (kind, flags) = (buffer[3], buffer[4])
        let stream = buffer[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
        let content = Array(buffer[9..<(9 + length)])
        buffer.removeFirst(9 + length)
        switch kind {
        case 1: requests.append(stream)
        case 4 where flags & 1 == 0: answer += Self.frame(4, flags: 1, 0, [])
        case 6 where flags & 1 == 0: answer += Self.frame(6, flags: 1, 0, content)
        default: break
        }
      }
      return (answer, requests)
    }
  }
}
#endif
