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
    let (registered, register) = AsyncStream.makeStream(of: Void.self)
    let queue = DispatchQueue(label: "Signals")
    func source(_ number: Int32, _ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
      // Otherwise the signal would do what it does before the source can tell of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler(handler: body)
      source.setRegistrationHandler { register.yield() }
      source.activate()
      return source
    }
    let isFirst = Shared(true)
    var sources = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { number in
      source(number) {
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
    sources.append(source(SIGWINCH, redraw))
    self.sources = sources
    var next = registered.makeAsyncIterator()
    for _ in sources { await next.next() }
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
