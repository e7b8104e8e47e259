#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The few calls of the socket interface that the server needs, on plain descriptors.
enum HTTPSocket {
  struct Failure: Error, CustomStringConvertible {
    let call: String
    let code: Int32

    var isOfATakenPort: Bool { code == EADDRINUSE }

    var description: String { "The test server's \(call) failed: \(String(cString: strerror(code)))" }
  }

  /// The result of a non-blocking read or write.
  enum Transfer {
    case bytes(Int)
    case wouldBlock
    case ended
  }

  /// A listening socket on 127.0.0.1 with a port that the system chose.
  static func listen(backlog: Int32 = 256) throws -> (descriptor: Int32, port: UInt16) {
    let (descriptor, port) = try bind()
    guard listenAtSocket(descriptor, backlog) else {
      let failure = Failure(call: "listen", code: errno)
      close(descriptor)
      throw failure
    }
    return (descriptor, port)
  }

  /// A listening socket on ::1, the same machine's address in IPv6.
  static func listenInIPv6(port: UInt16) throws -> Int32 {
    let descriptor = try make(AF_INET6)
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
    return try listen(descriptor, at: address)
  }

  /// A listening Unix socket, at a path where nothing is yet.
  static func listen(at path: String) throws -> Int32 {
    let descriptor = try make(AF_UNIX)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return try listen(descriptor, at: address)
  }

  private static func listen<Address>(_ descriptor: Int32, at address: Address) throws -> Int32 {
    var address = address
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bindSocket(descriptor, address, socklen_t(MemoryLayout<Address>.size)) && listenAtSocket(descriptor, 256)
      }
    }
    guard isListening else {
      let failure = Failure(call: "listen", code: errno)
      close(descriptor)
      throw failure
    }
    prepare(descriptor)
    return descriptor
  }

  /// A connection to a port of 127.0.0.1, established or not.
  static func connect(to port: UInt16) throws -> Int32 {
    let descriptor = try make()
    prepare(descriptor)
    var address = loopback
    address.sin_port = port.bigEndian
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        connectSocket(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return descriptor
  }

  private static func make(_ family: Int32 = AF_INET) throws -> Int32 {
    #if canImport(Glibc)
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    #elseif canImport(Musl) || canImport(Android) || canImport(Darwin)
    let descriptor = socket(family, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
    return descriptor
  }

  private static var loopback: sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// A socket on 127.0.0.1 that has a port to itself, and does not listen: connections are refused.
  static func bind() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = try make()
    var address = loopback
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bindSocket(descriptor, address, length) && getsockname(descriptor, address, &length) == 0
      }
    }
    guard named else {
      let failure = Failure(call: "bind", code: errno)
      close(descriptor)
      throw failure
    }
    prepare(descriptor)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Limits how much unread data the system keeps for each accepted connection.
  static func limitUnread(_ descriptor: Int32, to bytes: Int32) {
    var bytes = bytes
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The next connection that waits to be accepted, or nil when none does.
  static func accept(_ descriptor: Int32) -> Int32? {
    let connection = acceptConnection(descriptor)
    guard connection >= 0 else { return nil }
    prepare(connection)
    return connection
  }

  static func read(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
    transfer(recv(descriptor, &buffer, buffer.count, 0))
  }

  static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Transfer {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { transfer(send(descriptor, $0.baseAddress, $0.count, flags)) }
  }

  /// Makes the following close discard unsent data, and reset the connection.
  static func breakOff(_ descriptor: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  /// How many written bytes have not reached the other side's system.
  static func undeliveredByteCount(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    #if canImport(Darwin)
    var length = socklen_t(MemoryLayout.size(ofValue: count))
    getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &length)
    #else
    _ = ioctl(descriptor, UInt(TIOCOUTQ), &count)
    #endif
    return Int(count)
  }

  static func closeDescriptor(_ descriptor: Int32) {
    close(descriptor)
  }

  /// Makes the calls return at once, keeps child processes from inheriting the socket, and a lost
  /// client from killing the process.
  private static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  private static func transfer(_ count: Int) -> Transfer {
    if count > 0 { return .bytes(count) }
    if count < 0, errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR { return .wouldBlock }
    return .ended
  }
}

// The system's functions whose names mean something else inside of `HTTPSocket`.

private func acceptConnection(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func bindSocket(_ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>, _ length: socklen_t) -> Bool {
  bind(descriptor, address, length) == 0
}

private func connectSocket(_ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>, _ length: socklen_t) {
  _ = connect(descriptor, address, length)
}

private func listenAtSocket(_ descriptor: Int32, _ backlog: Int32) -> Bool { listen(descriptor, backlog) == 0 }
