import ExampleSupport
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

/// Signals as they concern a program with a screen.
final class Signals: @unchecked Sendable {  // `sources` is a constant, and what is in it is thread-safe
  private let sources: [any DispatchSourceSignal]

  /// Returns when signals are told of: one that came before would be lost.
  ///
  /// - Parameters:
  ///   - end: called at the first signal that ends the program; the second one ends it at once.
  ///   - redraw: called when the size of the terminal has changed, and when the program goes on
  ///     after Ctrl-Z.
  init(end: @escaping @Sendable (Int32) -> Void, redraw: @escaping @Sendable () -> Void) async {
    let isFirst = Shared(true)
    sources = await SignalSources.make([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH], label: "Signals") { number in
      guard number != SIGWINCH else { return redraw() }
      let first = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard first else {
        RawMode.leave()
        _exit(128 + number)
      }
      end(number)
    }
  }

  /// Lets Ctrl-Z give the shell a terminal in its usual mode, and enters raw mode again when the
  /// program goes on.
  static func suspending(_ redraw: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGTSTP, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTSTP, queue: DispatchQueue(label: "Suspending"))
    source.setEventHandler {
      RawMode.leave()
      kill(getpid(), SIGSTOP)
      RawMode.enter()
      redraw()
    }
    source.activate()
    return source
  }
}
