import CompositeOperations
import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes lines to a descriptor. No thread waits for the reader.
final class LineWriter: Sendable {
  /// Shared, so that lines of several sinks do not mix.
  static let standardError = LineWriter(descriptor: 2)

  /// The number of bytes that the system writes in one piece. When the system reports room, it has
  /// room for as many.
  #if canImport(Darwin)
  private static let pieceLength = 512
  #else
  private static let pieceLength = 4096
  #endif
  /// How many lines a thread writes for other threads before another thread continues.
  private static let turnLength = 64

  private let descriptor: Int32
  private let queue: LockBox<LineQueue>

  /// - Parameter capacity: the greatest number of bytes of lines that are kept while there is no
  ///   room.
  init(descriptor: Int32, capacity: Int = 1 << 20) {
    self.descriptor = descriptor
    queue = LockBox(LineQueue(capacity: capacity))
  }

  /// Writes a line now, or later if there is no room or another thread writes.
  func write(_ line: String) {
    var bytes = Array(line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    let isToWrite = queue.withLock { $0.enqueue(bytes) }
    if isToWrite { writeWaiting() }
  }

  private func writeWaiting() {
    for _ in 0..<Self.turnLength {
      guard let line = queue.withLock({ $0.next() }) else { return }
      if let rest = writeWhatHasRoom(line) {
        queue.withLock { $0.putBack(rest) }
        return goOn(after: .milliseconds(50))
      }
    }
    goOn(after: .nanoseconds(0))
  }

  /// Continues on another thread.
  private func goOn(after pause: DispatchTimeInterval) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + pause) { self.writeWaiting() }
  }

  /// Writes the bytes for which there is room. Returns the others; nil if all were written, or the
  /// reader is gone.
  private func writeWhatHasRoom(_ line: [UInt8]) -> [UInt8]? {
    var rest = line[...]
    while !rest.isEmpty {
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let count = poll(&ready, 1, 0)
      if count > 0, Int32(ready.revents) & Int32(POLLERR | POLLHUP) != 0 { return nil }
      guard count > 0 else { return count < 0 && errno != EINTR ? nil : Array(rest) }
      let written = rest.prefix(Self.pieceLength).withUnsafeBytes { writeBytes($0, to: descriptor) }
      if written >= 0 {
        rest.removeFirst(written)
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        return Array(rest)
      } else if errno != EINTR {
        return nil
      }
    }
    return nil
  }
}

/// The system's `write`. Inside ``LineWriter`` the name has another meaning.
private func writeBytes(_ buffer: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
  write(descriptor, buffer.baseAddress, buffer.count)
}
