import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The mode of the terminal in which keys come at once and are not shown, and the cursor is hidden.
///
/// Ctrl-C and Ctrl-Z stay signals. The mode is left at every end of the program: by `leave()`, at
/// `exit`, and by the signals of a crash. Only SIGKILL leaves no time for that; then `stty sane`
/// helps.
enum RawMode {
  /// Enters the mode. Returns whether there is a terminal for it.
  @discardableResult
  static func enter() -> Bool {
    guard tcgetattr(STDIN_FILENO, &savedMode) == 0 else { return false }
    var mode = savedMode
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    guard tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0 else { return false }
    isRaw = true
    writeNow(hideCursor)
    guard !hasHandlers else { return true }
    hasHandlers = true
    atexit { RawMode.leave() }
    for signal in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      var action = sigaction()
      #if canImport(Glibc)
      action.__sigaction_handler.sa_handler = crashed
      #elseif canImport(Musl)
      action.__sa_handler.sa_handler = crashed
      #elseif canImport(Android)
      action.sa_handler = crashed
      #elseif canImport(Darwin)
      action.__sigaction_u.__sa_handler = crashed
      #endif
      // The second one, sent below, ends the program as it would have.
      action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
      sigaction(signal, &action, nil)
    }
    return true
  }

  /// Leaves the mode, if it was entered. Does only what a signal handler may do.
  static func leave() {
    guard isRaw else { return }
    isRaw = false
    tcsetattr(STDIN_FILENO, TCSANOW, &savedMode)
    writeNow(showCursor)
  }

  private static func writeNow(_ bytes: UnsafeBufferPointer<UInt8>) {
    _ = write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
  }
}

// Global, for a handler of a crash can have nothing else. Changed by the main task, and by what
// ends the program.
nonisolated(unsafe) private var savedMode = termios()
nonisolated(unsafe) private var isRaw = false
nonisolated(unsafe) private var hasHandlers = false
nonisolated(unsafe) private let hideCursor = bytes("\u{1B}[?25l")
nonisolated(unsafe) private let showCursor = bytes("\u{1B}[?25h")

private func bytes(_ text: StaticString) -> UnsafeBufferPointer<UInt8> {
  UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
}

private func crashed(_ signal: Int32) {
  RawMode.leave()
  raise(signal)
}
