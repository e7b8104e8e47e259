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

/// Calls a closure at the first Ctrl-C. The second one ends the program at once, with the cursor
/// shown.
final class Interrupt: @unchecked Sendable {  // `source` is a constant and thread-safe
  static let exitStatus: Int32 = 130

  private let source: any DispatchSourceSignal

  init(_ handler: @escaping @Sendable () -> Void) {
    // Otherwise the signal would end the program before the source can tell of it.
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "Interrupt"))
    let isFirst = Shared(true)
    source.setEventHandler {
      let first = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard first else {
        TerminalCursor.show()
        _exit(Self.exitStatus)
      }
      handler()
    }
    source.activate()
  }

  /// Gives Ctrl-C its usual meaning again.
  func end() {
    source.cancel()
    signal(SIGINT, SIG_DFL)
  }
}
