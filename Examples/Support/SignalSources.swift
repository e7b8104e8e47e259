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

/// Sources that tell of signals, one after the other on a queue of their own.
package enum SignalSources {
  /// Returns when signals are told of: one that came before would be lost.
  package static func make(
    _ numbers: [Int32], label: String, _ handler: @escaping @Sendable (_ signal: Int32) -> Void
  ) async -> [any DispatchSourceSignal] {
    let (registered, register) = AsyncStream.makeStream(of: Void.self)
    let queue = DispatchQueue(label: label)
    let sources = numbers.map { number in
      // Otherwise the signal would do what it does before the source can tell of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { handler(number) }
      source.setRegistrationHandler { register.yield() }
      source.activate()
      return source
    }
    var next = registered.makeAsyncIterator()
    for _ in sources { await next.next() }
    return sources
  }
}
