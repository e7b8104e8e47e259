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

@Suite(.timeLimit(.minutes(30))) struct TerminalTests {
  @Test func keys_driveAnOrderToItsEnd_andTheTerminalIsAsBefore() async throws {
    let folder = try TestPhoto.folder()
    let screen = try Screen()
    #expect(!screen.isRaw)
    let program = try Program(["a.jpg", "in/b.jpg"], in: folder, terminal: screen.device)
    await screen.wait(for: "Create Project      finished")
    #expect(screen.isRaw)
    screen.press("2f")
    await screen.wait(for: "Upload Photo 1      finished")
    // Down to the second condition; Enter does what comes next, which is to fulfil it.
    screen.press("\u{1B}[B\u{1B}[B\r")
    await screen.wait(for: "Upload Photo 2      finished")
    screen.press("6\n")
    await screen.wait(for: "Photo Order   complete   7 of 7 finished")
    screen.press("q")
    let result = try await program.result()
    #expect(!screen.isRaw)
    try await screen.end()
    #expect(result.status == 0)
    #expect(result.errors == "")
    let text = screen.text
    #expect(text.contains("\u{1B}[?25l") && text.contains("\u{1B}[?25h"))
    #expect(text.contains("S C R X start, cancel, retry, reset all  q leave"))
    #expect(text.hasSuffix("The graph is in photo-order/order.mmd\r\n"))
    #expect(try folder.read("photo-order/photos/1-a.jpg") == TestPhoto.first)
  }

  @Test func keys_holdCancelRetryAndReset() async throws {
    let screen = try Screen()
    let program = try Program([], in: try TemporaryFolder(), terminal: screen.device)
    await screen.wait(for: "Create Project      finished")
    screen.press("3h")
    await screen.wait(for: "Upload Photo 1 will stop at 0 %")
    screen.press("2f")
    await screen.wait(for: "Upload Photo 1      held")
    screen.press("3c")
    await screen.wait(for: "Upload Photo 1      cancelled")
    screen.press("hr")
    await screen.wait(for: "Upload Photo 1      finished")
    screen.press("4n")
    await screen.wait(for: "it was refused; retry it to wait again")
    screen.press("r")
    screen.press("1x")
    await screen.wait(for: "Create Project      ready")
    screen.press("CR")
    screen.press("4f6f")
    await screen.wait(for: "Upload Photo 2      finished")
    // The first condition has finished and keeps its value: only what depends on it was reset and
    // cancelled.
    await screen.wait(for: "Photo Order   complete   7 of 7 finished")
    screen.press("x")
    await screen.wait(for: "Metadata Available  ready")
    screen.press("q")
    let result = try await program.result()
    try await screen.end()
    #expect(result.status == 1)
    #expect(result.errors.contains("Missing: Metadata Available, Submit Order"))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func signal_endsTheProgram_withTheTerminalAsBefore(_ signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let screen = try Screen()
    let program = try Program([], in: folder, terminal: screen.device)
    await screen.wait(for: "Create Project      finished")
    program.send(signal)
    let result = try await program.result()
    #expect(!screen.isRaw)
    try await screen.end()
    #expect(!result.wasKilled)
    #expect(result.status == 128 + signal)
    #expect(screen.text.contains("\u{1B}[?25h"))
    #expect(try folder.text("photo-order/order.mmd").contains("t2{{\"Photo 1 Available\"}}:::executing"))
  }

  @Test(arguments: [SIGSEGV, SIGABRT])
  func crash_leavesTheTerminalAsBefore(_ signal: Int32) async throws {
    let screen = try Screen()
    let program = try Program([], in: try TemporaryFolder(), terminal: screen.device)
    await screen.wait(for: "Create Project      finished")
    program.send(signal)
    let result = try await program.result()
    #expect(!screen.isRaw)
    try await screen.end()
    #expect(result.wasKilled && result.status == signal)
    #expect(screen.text.hasSuffix("\u{1B}[?25h"))
  }

  @Test func script_onATerminal_drawsTheTable_andNeedsNoKeys() async throws {
    let screen = try Screen()
    let folder = try TemporaryFolder(["s": "hold 3 0\nstart all\nfulfill 2\nwait 1 failed"])
    let program = try Program(["--script", "s"], in: folder, terminal: screen.device)
    let result = try await program.result()
    try await screen.end()
    #expect(result.status == 1)
    #expect(result.errors.contains("would wait for ever"))
    #expect(screen.text.contains("Upload Photo 1      held"))
    #expect(!screen.text.contains("q leave") && !screen.text.contains("\u{1B}[?25l"))
  }

  @Test func smallWindow_isNeverOverflown() async throws {
    let screen = try Screen(columns: 40, rows: 9)
    let program = try Program([], in: try TemporaryFolder(), terminal: screen.device)
    await screen.wait(for: "Create Project      f")
    screen.press("q")
    _ = try await program.result()
    try await screen.end()
    let frames = screen.text.split(separator: "\u{1B}[J").dropFirst().dropLast()
    for frame in frames {
      // "\r\n" is one character, a newline; "\r" alone begins a line anew.
      let lines = frame.replacing(#/\x1B\[[0-9?]*[A-Za-z]/#, with: "")
        .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      #expect(lines.count <= 9 + 1)
      #expect(lines.allSatisfy { $0.count < 40 })
    }
  }

  @Test func plain_onATerminal_printsLines() async throws {
    let screen = try Screen()
    let result = try await Program(["--plain"], in: try TemporaryFolder(), terminal: screen.device).result()
    try await screen.end()
    #expect(result.status == 0)
    #expect(!screen.text.contains("\u{1B}"))
    #expect(screen.text.contains("Photo Order: every task has finished"))
  }

  @Test func withoutUnicode_theTableIsASCII() async throws {
    let screen = try Screen()
    let program = try Program(
      [], in: try TemporaryFolder(), terminal: screen.device, environment: ["TERM": "xterm", "LC_ALL": "C"])
    await screen.wait(for: "Create Project      finished")
    screen.press("q")
    _ = try await program.result()
    try await screen.end()
    #expect(screen.text.utf8.count == screen.text.unicodeScalars.count)
  }
}
#endif
