import Dispatch
import ExampleSupport
import Foundation

/// The bundled server: HTTP/1.1 on 127.0.0.1, one request for each connection.
final class WeatherServer: @unchecked Sendable {  // `listener` is a constant and thread-safe
  /// Where it listens, for clients of this machine.
  let url: URL

  private let service: Shared<WeatherService>
  private let listener: any DispatchSourceRead

  /// Starts a server, which answers as long as it lives.
  init(_ service: WeatherService) throws(ServerSocket.Failure) {
    let (socket, port) = try ServerSocket.listening()
    var address = URLComponents()
    (address.scheme, address.host, address.port) = ("http", "127.0.0.1", Int(port))
    guard let url = address.url else { preconditionFailure("http://127.0.0.1 with a port is an address.") }
    self.url = url
    let service = Shared(service)
    self.service = service
    let queue = DispatchQueue(label: "WeatherServer")
    listener = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    listener.setEventHandler {
      while let connection = socket.accepted() {
        ServerConnection(connection, queue) { request in service.withLock { $0.answer(request) } }.start()
      }
    }
    listener.setCancelHandler { socket.end() }
    listener.activate()
  }

  deinit {
    listener.cancel()
  }

  /// How many tokens it has given away.
  var tokenCount: Int { service.withLock(\.tokenCount) }
}

/// A connection: reads a request, writes the answer, and ends. Lives until then.
private final class ServerConnection: @unchecked Sendable {  // everything happens in `queue`
  private let socket: ServerSocket
  private let queue: DispatchQueue
  private let answer: @Sendable (ServerRequest) -> ServerAnswer
  private var received: [UInt8] = []
  private var toSend: ArraySlice<UInt8> = []

  init(_ socket: ServerSocket, _ queue: DispatchQueue, _ answer: @escaping @Sendable (ServerRequest) -> ServerAnswer) {
    self.socket = socket
    self.queue = queue
    self.answer = answer
  }

  func start() {
    let source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    source.setEventHandler { [self] in
      if isRead() { source.cancel() }
    }
    source.setCancelHandler { [self] in send() }
    source.activate()
  }

  /// Reads what has come. True if there is nothing more to read.
  private func isRead() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      switch socket.read(into: &buffer) {
      case .bytes(let count): received += buffer[..<count]
      case .later: return false
      case .ended: return true
      }
      do {
        guard let request = try ServerRequest.read(received) else { continue }
        toSend = answer(request).bytes[...]
      } catch {
        toSend = ServerAnswer.problem(400, "This is no request in HTTP/1.1.").bytes[...]
      }
      return true
    }
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
