import Foundation

/// A place in the user's source.
struct SourceLocation {
  let fileID: StaticString
  let line: UInt
}

/// Writes diagnoses that no caller is left to receive as an error.
package enum Diagnostics {
  /// Writes to the standard error output. A diagnosis must not end the program, even if the reader
  /// has gone.
  @Sendable
  package static func write(_ message: String) {
    // The method that does not throw traps when the pipe is closed.
    withoutBrokenPipes { try? FileHandle.standardError.write(contentsOf: Data(message.utf8)) }
  }

  /// Runs a closure that may write to a pipe without a reader, which then fails: the signal that
  /// would end the program is taken off the thread. What the program does with that signal is its
  /// own business.
  private static func withoutBrokenPipes(_ body: () -> Void) {
    var brokenPipe = sigset_t(), before = sigset_t()
    sigemptyset(&brokenPipe)
    sigaddset(&brokenPipe, SIGPIPE)
    let wasPending = isBrokenPipePending
    pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
    body()
    if !wasPending, isBrokenPipePending {
      var signal: Int32 = 0
      sigwait(&brokenPipe, &signal)
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  private static var isBrokenPipePending: Bool {
    var pending = sigset_t()
    sigpending(&pending)
    return sigismember(&pending, SIGPIPE) == 1
  }
}

/// Traps with a message if the program made a mistake.
///
/// Not a precondition, whose message is omitted in release builds.
@inline(__always)
package func require(_ isRight: Bool, _ mistake: @autoclosure () -> String) {
  if !isRight { fatalError(mistake()) }
}

/// Traps if a closure's value type is an operation, or an optional or an array of them, which would
/// never run.
@inline(__always)
package func requireValue<Value>(_ type: Value.Type, of form: StaticString) {
  require(
    !consistsOfOperations(Value.self),
    "\(form) got a closure whose value is an operation, or holds some (\(Value.self)), which would never run. Use "
      + "then(_:), which runs the operation that its closure returns; all(_:) makes one of several.")
}
