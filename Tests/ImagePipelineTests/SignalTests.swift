#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct SignalTests {
  @Test(arguments: [SIGINT, SIGTERM])
  func signal_whileThereIsABar_leavesACursorAndNoFolder(_ signal: Int32) async throws {
    let screen = try Screen()
    // So many that they take minutes.
    let program = try Program(["--images", "20000"], terminal: screen.device)
    await screen.wait(for: "\u{1B}[?25l")
    #if os(Linux)
    #expect(try program.files().count == 1)
    #endif
    program.send(signal)
    let (status, wasKilled) = try await program.end()
    try await screen.end()
    #expect(!wasKilled)
    #expect(status == 128 + signal)
    #expect(screen.text.ranges(of: "\u{1B}[?25h").count == screen.text.ranges(of: "\u{1B}[?25l").count)
    #expect(try program.files() == [])
  }
}
#endif
