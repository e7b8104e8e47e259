#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct TerminalTests {
  /// A terminal without a screen: what is written to `device` can be read from `screen`.
  private struct Terminal {
    let screen: Int32
    let device: FileHandle

    init(columns: UInt16) throws {
      var screen: Int32 = -1
      var device: Int32 = -1
      var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      guard openpty(&screen, &device, nil, nil, &size) == 0 else { throw CocoaError(.fileReadUnknown) }
      _ = fcntl(screen, F_SETFD, FD_CLOEXEC)
      self.screen = screen
      self.device = FileHandle(fileDescriptor: device, closeOnDealloc: true)
    }

    /// Everything that is written until nobody has the device open any more.
    func readAll() -> String {
      var text: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = read(screen, &chunk, chunk.count)
        guard count > 0 else { break }
        text += chunk[..<count]
      }
      close(screen)
      return String(decoding: text, as: UTF8.self)
    }
  }

  @Test func progress_onATerminal_isABarThatIsGoneAtTheEnd() async throws {
    try await withServer { server in
      server.route("/a", .ok())
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/a"))) [b](\(server.url("/gone")))"])
      let terminal = try Terminal(columns: 90)
      let screen = Task { await onWorker { terminal.readAll() } }
      let result = try await Tool(["a.md"], in: folder, terminal: terminal.device).result()
      try terminal.device.close()
      let written = await screen.value
      #expect(written.contains(/Reading files \([0-9:]+\)/))
      // Nothing of a bar is left, and the cursor is back.
      let end = try #require(written.ranges(of: /Checking web links \([0-9:]+\)/).last)
      let tail = written[end.upperBound...]
      #expect(!tail.contains("Checking"))
      #expect(written.contains("\u{1B}[?25l") == written.contains("\u{1B}[?25h"))
      // The report itself has no control characters.
      #expect(!result.output.contains("\u{1B}"))
    }
  }
}
#endif
