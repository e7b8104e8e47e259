#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TerminalTests {
  @Test func progress_onATerminal_isABarThatIsGoneAtTheEnd() async throws {
    try await withServer { server in
      server.route("/a", .ok())
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/a"))) [b](\(server.url("/gone")))"])
      let terminal = try Terminal()
      let result = try await Tool(["a.md"], in: folder, terminal: terminal.device).result()
      let written = try await terminal.end()
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
