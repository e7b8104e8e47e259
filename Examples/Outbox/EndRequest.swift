import ExampleSupport
import Foundation

/// Calls a closure when the program should end: at SIGTERM or Ctrl-C, or at the end of its standard
/// input.
///
/// The input also ends when the parent process is killed, which sends no signal.
struct EndRequest {
  private let signals: GracefulEnd

  init(atEndOfInput: Bool, _ handler: @escaping @Sendable () -> Void) async {
    signals = await GracefulEnd { _ in handler() }
    guard atEndOfInput else { return }
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count == 0 || count < 0 && errno != EINTR { return handler() }
      }
    }
  }
}
