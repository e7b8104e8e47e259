import Dispatch
import Foundation

/// A small server of an example: HTTP/1.1 on 127.0.0.1, one request for each connection.
package final class LocalServer: @unchecked Sendable {  // `listener` is a constant and thread-safe
  /// Where it listens, for clients of this machine.
  package let url: URL

  private let listener: any DispatchSourceRead

  /// Starts a server, which answers as long as it lives.
  ///
  /// - Parameters:
  ///   - port: where it listens; 0 for a port that the system chooses.
  ///   - longestBody: how many bytes of a request's body are read at most.
  ///   - answer: called for one request after the other.
  package init(
    port: UInt16 = 0, longestBody: Int = 16_384, answer: @escaping @Sendable (ServerRequest) -> ServerAnswer
  ) throws(ServerSocket.Failure) {
    let (socket, port) = try ServerSocket.listening(port: port)
    var address = URLComponents()
    (address.scheme, address.host, address.port) = ("http", "127.0.0.1", Int(port))
    guard let url = address.url else { preconditionFailure("http://127.0.0.1 with a port is an address.") }
    self.url = url
    let queue = DispatchQueue(label: "LocalServer")
    listener = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    listener.setEventHandler {
      while let connection = socket.accepted() {
        ServerConnection(connection, queue, longestBody: longestBody, answer).start()
      }
    }
    listener.setCancelHandler { socket.end() }
    listener.activate()
  }

  deinit {
    listener.cancel()
  }
}

/// A connection: reads a request, writes the answer, and ends. Lives until then.
private final class ServerConnection: @unchecked Sendable {  // everything happens in `queue`
  private let socket: ServerSocket
  private let queue: DispatchQueue
  private let longestBody: Int
  private let makeAnswer: @Sendable (ServerRequest) -> ServerAnswer
  private var received: [UInt8] = []
  private var answer: ServerAnswer?
  private var toSend: ArraySlice<UInt8> = []

  init(
    _ socket: ServerSocket, _ queue: DispatchQueue, longestBody: Int,
    _ makeAnswer: @escaping @Sendable (ServerRequest) -> ServerAnswer
  ) {
    self.socket = socket
    self.queue = queue
    self.longestBody = longestBody
    self.makeAnswer = makeAnswer
  }

  func start() {
    let source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    source.setEventHandler { [self] in
      if isRead() { source.cancel() }
    }
    source.setCancelHandler { [self] in sendLater() }
    source.activate()
  }

  /// Reads what has come. True if there is nothing more to read.
  private func isRead() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      switch socket.read(into: &buffer) {
      case .bytes(let count): received += buffer[..<count]
      case .later: return false
      case .ended: return true
      }
      do {
        guard let request = try ServerRequest.read(received, longestBody: longestBody) else { continue }
        answer = makeAnswer(request)
      } catch {
        answer = .problem(400, "This is no request in HTTP/1.1, or it is too long.")
      }
      return true
    }
  }

  private func sendLater() {
    guard let answer, !answer.isDropped else { return socket.end() }
    toSend = answer.bytes[...]
    guard answer.delay > 0 else { return send() }
    queue.asyncAfter(deadline: .now() + answer.delay) { [self] in send() }
  }

  private func send() {
    guard !isSent() else { return socket.end() }
    let source = DispatchSource.makeWriteSource(fileDescriptor: socket.descriptor, queue: queue)
    source.setEventHandler { [self] in
      if isSent() { source.cancel() }
    }
    source.setCancelHandler { [self] in socket.end() }
    source.activate()
  }

  /// Writes what can be written. True if nothing is left to write.
  private func isSent() -> Bool {
    while !toSend.isEmpty {
      switch socket.write(toSend) {
      case .bytes(let count): toSend.removeFirst(count)
      case .later: return false
      case .ended: return true
      }
    }
    return true
  }
}
