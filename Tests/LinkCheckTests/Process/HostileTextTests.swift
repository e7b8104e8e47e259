#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

/// Names of files, links and anchors come from anywhere. What a terminal would obey in them never
/// gets there as it is.
@Suite(.timeLimit(.minutes(30))) struct HostileTextTests {
  /// Names a window, changes a colour, and turns the direction of text.
  private static let hostile = "\u{1B}]0;owned\u{7}\u{9B}31m\u{202E}x"
  /// The same, as the report for people tells it.
  private static let shown = "\u{FFFD}]0;owned\u{FFFD}\u{FFFD}31m\u{FFFD}x"
  /// The same in a link, which hides it from a reader who looks at the file only.
  private static let encoded = "%1B%5D0;owned%07%C2%9B31m%E2%80%AEx"

  /// A folder with three broken links, each with a name in the reason that is nearly the one in the
  /// link.
  private static func folder() throws -> TemporaryFolder {
    try TemporaryFolder([
      "a\(hostile).md": "[link](<gone\(hostile).md>)\n[anchor](<b.md#an\(hostile)>)\n[encoded](gone\(encoded).md)\n",
      "b.md": "<p id=\"anchor\(hostile)\"></p>\n",
    ])
  }

  /// The characters of a report that a terminal would obey, other than the ends of its lines.
  private static func obeyed(in report: String) -> [UInt32] {
    report.unicodeScalars.filter { scalar in
      switch scalar {
      case "\n": false
      case "\u{0}"..<" ", "\u{7F}"..."\u{9F}", "\u{202E}": true
      default: false
      }
    }.map(\.value)
  }

  @Test func report_tellsHostileNamesWithMarksForWhatATerminalWouldObey() async throws {
    let folder = try Self.folder()
    let result = try await Tool.run(".", in: folder)
    #expect(Self.obeyed(in: result.output) == [] && Self.obeyed(in: result.errors) == [])
    #expect(result.status == 1)
    let (file, anchor) = ("a\(Self.shown).md", "#anchor\(Self.shown)")
    for text in [
      "  \(file):1  gone\(Self.shown).md  ", "  no gone\(Self.shown).md; did you mean \(file)?\n",
      "  \(file):2  b.md#an\(Self.shown)  ", "  no anchor #an\(Self.shown); did you mean \(anchor)?\n",
      "  \(file):3  gone\(Self.encoded).md  ",
    ] {
      #expect(result.output.contains(text), "\(result.output)")
    }
    #expect(result.output.hasSuffix("\n3 links in 2 files: 0 good, 3 broken.\n"))
  }

  @Test func json_hasEscapesForWhatATerminalWouldObey() async throws {
    let folder = try Self.folder()
    let result = try await Tool.run("--json", ".", in: folder)
    #expect(Self.obeyed(in: result.output) == [] && Self.obeyed(in: result.errors) == [])
    #expect(result.output.contains(#"\u009b31m\u202ex"#))
    // A program that reads it gets the names as they are.
    let broken = try result.report().broken
    let file = "a\(Self.hostile).md"
    #expect(broken.map(\.file) == [file, file, file])
    #expect(
      broken.map(\.link) == ["gone\(Self.hostile).md", "b.md#an\(Self.hostile)", "gone\(Self.encoded).md"])
    #expect(
      broken.map(\.reason) == [
        "no gone\(Self.hostile).md; did you mean \(file)?",
        "no anchor #an\(Self.hostile); did you mean #anchor\(Self.hostile)?",
        "no gone\(Self.hostile).md; did you mean \(file)?",
      ])
  }

  @Test(arguments: [[], ["--json"]])
  func reports_onATerminal_areTheSameAsInAFile(_ options: [String]) async throws {
    let folder = try Self.folder()
    let redirected = try await Tool(options + ["."], in: folder).result()
    let terminal = try Terminal()
    let result = try await Tool(options + ["."], in: folder, output: terminal.device).result()
    let written = try await terminal.end()
    #expect(result.status == 1)
    #expect(Self.obeyed(in: written) == [])
    #expect(written == redirected.output)
  }

  @Test func progress_onATerminal_hasTheEscapesOfItsOwnOnly() async throws {
    try await withServer { server in
      // The pause before the second request is told while the bar is there.
      server.route("/\(Self.encoded)", .failing(1))
      let folder = try TemporaryFolder(["a\(Self.hostile).md": "[a](<\(server.url("/"))\(Self.hostile)>)"])
      let terminal = try Terminal()
      let result = try await Tool(["--retry-delay", "0", "."], in: folder, terminal: terminal.device).result()
      let written = try await terminal.end()
      #expect(result.status == 0)
      let own = #/\x1B\[[0-9;?]*[A-Za-z]|\r/#
      #expect(Self.obeyed(in: written.replacing(own, with: "")) == [])
      #expect(written.contains("503 service unavailable; asking again in 0 s"))
    }
  }

  @Test func complaint_aboutAHostileArgument_hasMarks() async throws {
    let folder = try TemporaryFolder()
    let result = try await Tool(["gone\(Self.hostile).md"], in: folder).result()
    #expect(result.status == 2)
    #expect(Self.obeyed(in: result.errors) == [])
    #expect(result.errors.hasPrefix("LinkCheck: gone\(Self.shown).md does not exist.\n"))
  }
}
#endif
