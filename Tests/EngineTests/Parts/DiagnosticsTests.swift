#if os(macOS) || os(Linux)
import Foundation
import Testing

@testable import CompositeOperations

@Suite("10 Diagnoses", .hangLimit)
struct DiagnosticsTests {
  @Test func write_withoutAReader_doesNotEndTheProgram() async {
    await #expect(processExitsWith: .success) {
      let standardError = dup(2)
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      close(ends[0])
      dup2(ends[1], 2)
      signal(SIGPIPE, SIG_DFL)
      Diagnostics.write("nobody reads this\n")
      // Nor does the signal come later.
      var pending = sigset_t()
      sigpending(&pending)
      dup2(standardError, 2)
      exit(sigismember(&pending, SIGPIPE))
    }
  }
}
#endif
