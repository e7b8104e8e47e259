#if os(macOS) || os(Linux)
import Foundation
import TestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A terminal without a window: what is written to it can be read.
final class Terminal: Sendable {
  /// What a process writes to.
  let device: FileHandle
  private let written = EventRecorder<[UInt8]>()
  private let ended = Gate()

  init(columns: UInt16 = 90) throws {
    var screen: Int32 = -1
    var device: Int32 = -1
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&screen, &device, nil, nil, &size) == 0 else { throw CocoaError(.fileReadUnknown) }
    _ = fcntl(screen, F_SETFD, FD_CLOEXEC)
    _ = fcntl(device, F_SETFD, FD_CLOEXEC)
    self.device = FileHandle(fileDescriptor: device, closeOnDealloc: true)
    let thread = Thread { [written, ended, screen] in
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = read(screen, &chunk, chunk.count)
        guard count > 0 else { break }
        written.record(Array(chunk[..<count]))
      }
      close(screen)
      ended.open()
    }
    thread.start()
  }

  /// Waits until something was written, now or before.
  func wait(for text: String) async {
    await written.wait { Self.text($0).contains(text) }
  }

  /// Whether something was written by now.
  func shows(_ text: String) -> Bool { Self.text(written.events).contains(text) }

  private static func text(_ pieces: [[UInt8]]) -> String {
    String(decoding: pieces.joined(), as: UTF8.self)
  }

  /// Ends the terminal, and returns everything that was written to it, with the line ends of a
  /// file.
  ///
  /// - Throws: `CancellationError` when the time of the test is up, as when a process still has the
  ///   terminal.
  func end() async throws -> String {
    try device.close()
    try await ended.waitUnlessCancelled()
    return Self.text(written.events).replacing("\r\n", with: "\n")
  }
}
#endif
