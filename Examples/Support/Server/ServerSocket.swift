#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The few calls of the socket interface that the server needs. None of them waits.
package struct ServerSocket: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    let call: String
    let code: Int32

    package var description: String {
      "No server can be started (\(call): \(String(cString: strerror(code)))). Choose another port, or another server."
    }
  }

  /// What came of reading or writing.
  enum Transfer {
    case bytes(Int)
    case later
    case ended
  }

  let descriptor: Int32

  private init(descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// A socket that listens on 127.0.0.1, at a port; the system chooses one for 0.
  static func listening(port: UInt16) throws(Failure) -> (socket: ServerSocket, port: UInt16) {
    #if canImport(Glibc)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #elseif canImport(Musl) || canImport(Android) || canImport(Darwin)
    let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
    let listener = ServerSocket(descriptor: descriptor)
    var isReused: Int32 = 1
    // A server may come back at once at the port that it had.
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_port = port.bigEndian
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failedCall = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> String? in
        guard bind(descriptor, address, length) == 0 else { return "bind" }
        guard listen(descriptor, 64) == 0 else { return "listen" }
        return getsockname(descriptor, address, &length) == 0 ? nil : "getsockname"
      }
    }
    if let failedCall {
      let failure = Failure(call: failedCall, code: errno)
      listener.end()
      throw failure
    }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  /// The next connection that waits, if one does.
  func accepted() -> ServerSocket? {
    let connection = accept(descriptor, nil, nil)
    return connection < 0 ? nil : ServerSocket(descriptor: connection)
  }

  func read(into buffer: inout [UInt8]) -> Transfer {
    transfer(recv(descriptor, &buffer, buffer.count, 0))
  }

  func write(_ bytes: ArraySlice<UInt8>) -> Transfer {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { transfer(send(descriptor, $0.baseAddress, $0.count, flags)) }
  }

  func end() {
    close(descriptor)
  }

  private func transfer(_ count: Int) -> Transfer {
    if count > 0 { return .bytes(count) }
    return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? .later : .ended
  }
}
