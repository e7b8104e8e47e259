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

/// Calls a closure at the first SIGTERM or Ctrl-C. The second one ends the program at once, with
/// the cursor shown if the program shows bars.
package final class GracefulEnd: @unchecked Sendable {  // `sources` is a constant, and what is in it is thread-safe
  private let sources: [any DispatchSourceSignal]

  /// Returns when signals are told of: one that came before would be lost.
  package init(showsBars: Bool = false, _ handler: @escaping @Sendable (_ signal: Int32) -> Void) async {
    let isFirst = Shared(true)
    sources = await SignalSources.make([SIGTERM, SIGINT], label: "GracefulEnd") { number in
      let first = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard first else {
        if showsBars { TerminalCursor.show() }
        _exit(128 + number)
      }
      handler(number)
    }
  }

  /// Gives the signals their usual meaning again.
  package func end() {
    for source in sources { source.cancel() }
    for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
  }
}
