#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The cursor of the terminal, which is hidden while there are bars.
package enum TerminalCursor {
  /// Shows the cursor on the standard error output, for a program that ends at once and can wait
  /// for nothing.
  package static func show() {
    guard isatty(STDERR_FILENO) == 1 else { return }
    // A terminal that takes nothing would not let the program end.
    var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    guard poll(&output, 1, 0) == 1, output.revents & Int16(POLLOUT) != 0 else { return }
    let text = Array("\u{1B}[?25h".utf8)
    _ = write(STDERR_FILENO, text, text.count)
  }
}
