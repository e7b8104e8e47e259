#if os(macOS) || os(Linux)
import Foundation
import Testing

@testable import CompositeOperations

@Suite("10 Diagnoses", .hangLimit)
struct DiagnosticsTests {
  @Test func write_withoutAReader_doesNotEndTheProgram() async {
    await #expect(processExitsWith: .success) {
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      close(ends[0])
      dup2(ends[1], 2)
      signal(SIGPIPE, SIG_DFL)
      Diagnostics.write("nobody reads this\n")
      // The signal is neither pending nor blocked afterwards.
      var (signals, blocked) = (sigset_t(), sigset_t())
      sigpending(&signals)
      pthread_sigmask(SIG_BLOCK, nil, &blocked)
      #expect(sigismember(&signals, SIGPIPE) == 0 && sigismember(&blocked, SIGPIPE) == 0)
    }
  }
}
#endif
