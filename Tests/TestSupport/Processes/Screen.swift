#if os(macOS) || os(Linux)
public import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A terminal without a window: what is drawn on it can be read, and keys can be pressed.
public final class Screen: Sendable {
  /// What a process reads and writes.
  public let device: FileHandle
  private let fileDescriptor: Int32
  private let drawn = EventRecorder<String>()
  private let ended = Gate()

  /// Makes a terminal of that size.
  public init(columns: UInt16 = 110, rows: UInt16 = 30) throws {
    var screen: Int32 = -1
    var device: Int32 = -1
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&screen, &device, nil, nil, &size) == 0 else { throw CocoaError(.fileReadUnknown) }
    _ = fcntl(screen, F_SETFD, FD_CLOEXEC)
    _ = fcntl(device, F_SETFD, FD_CLOEXEC)
    fileDescriptor = screen
    self.device = FileHandle(fileDescriptor: device, closeOnDealloc: true)
    let thread = Thread { [drawn, ended, screen] in
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = read(screen, &chunk, chunk.count)
        guard count > 0 else { break }
        bytes += chunk[..<count]
        // A character of several bytes may come in two parts.
        if let text = String(validating: bytes, as: UTF8.self) {
          drawn.record(text)
          bytes = []
        }
      }
      ended.open()
    }
    thread.start()
  }

  deinit {
    close(fileDescriptor)
  }

  /// Everything that was drawn so far.
  public var text: String { drawn.events.joined() }

  /// Presses keys.
  public func press(_ keys: String) {
    let bytes = Array(keys.utf8)
    _ = write(fileDescriptor, bytes, bytes.count)
  }

  /// Waits until something was drawn, now or before.
  public func wait(for expected: String) async {
    await drawn.wait { $0.joined().contains(expected) }
  }

  /// Whether keys come at once and are not shown.
  public var isRaw: Bool {
    var mode = termios()
    tcgetattr(fileDescriptor, &mode)
    return mode.c_lflag & tcflag_t(ICANON | ECHO) == 0
  }

  /// Ends the terminal, and waits until everything was read.
  ///
  /// - Throws: `CancellationError` when the time of the test is up, as when a process still has the
  ///   terminal.
  public func end() async throws {
    try device.close()
    try await ended.waitUnlessCancelled()
  }
}
#endif
