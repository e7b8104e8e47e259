#if os(Linux) || os(macOS)
import Foundation

/// Stands between a client and a server on 127.0.0.1, and cuts the connection where a test wants it.
public final class PostgresProxy: Sendable {
  /// Which bytes are counted.
  public enum Side: Sendable {
    case fromClient, fromServer
  }

  private struct State {
    var cut: (side: Side, left: Int)?
    var taken: [Side: Int] = [:]
    var isOver = false
  }

  /// Where clients connect to.
  public let port: UInt16
  private let descriptor: Int32
  private let serverPort: UInt16
  private let state = Locked(State())

  /// Starts a proxy.
  public init(to port: Int) throws {
    (descriptor, self.port) = try HTTPSocket.listen()
    serverPort = UInt16(port)
    let (descriptor, serverPort, state) = (descriptor, serverPort, state)
    Thread.detachNewThread { Self.accept(descriptor, serverPort, state) }
  }

  deinit {
    // The thread closes the socket.
    state.withLock { $0.isOver = true }
  }

  /// Lets some more bytes pass, and cuts the connection then. Also counts anew.
  public func cut(_ side: Side, after count: Int) {
    state.withLock {
      $0.cut = (side, count)
      $0.taken = [:]
    }
  }

  /// Cuts nothing, and counts anew.
  public func letPass() {
    state.withLock {
      $0.cut = nil
      $0.taken = [:]
    }
  }

  /// How many bytes have passed since they are counted.
  public func count(_ side: Side) -> Int { state.withLock { $0.taken[side] ?? 0 } }

  private static func accept(_ descriptor: Int32, _ port: UInt16, _ state: Locked<State>) {
    defer { HTTPSocket.closeDescriptor(descriptor) }
    while !state.withLock({ $0.isOver }) {
      var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&file, 1, 50) > 0, let client = HTTPSocket.accept(descriptor) else { continue }
      guard let server = try? HTTPSocket.connect(to: port) else {
        HTTPSocket.closeDescriptor(client)
        continue
      }
      Thread.detachNewThread {
        relay(client, server, state)
        HTTPSocket.closeDescriptor(client)
        HTTPSocket.closeDescriptor(server)
      }
    }
  }

  private static func relay(_ client: Int32, _ server: Int32, _ state: Locked<State>) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !state.withLock({ $0.isOver }) {
      var files = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&files, 2, 50) > 0 else { continue }
      for (index, side) in [Side.fromClient, .fromServer].enumerated() where files[index].revents != 0 {
        let (source, target) = index == 0 ? (client, server) : (server, client)
        switch HTTPSocket.read(source, into: &buffer) {
        case .wouldBlock: break
        case .ended: return
        case .bytes(let count):
          let passing = state.withLock { state in
            var passing = count
            if let cut = state.cut, cut.side == side {
              passing = min(count, cut.left)
              state.cut = (side, cut.left - passing)
            }
            state.taken[side, default: 0] += passing
            return passing
          }
          var rest = buffer[..<passing]
          while !rest.isEmpty {
            switch HTTPSocket.write(target, rest) {
            case .bytes(let written): rest = rest.dropFirst(written)
            case .ended: return
            case .wouldBlock:
              var file = pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
              _ = poll(&file, 1, 50)
              if state.withLock({ $0.isOver }) { return }
            }
          }
        }
        if state.withLock({ $0.cut?.side == side && $0.cut?.left == 0 }) { return }
      }
    }
  }
}
#endif
