import Dispatch
import Foundation

package enum Threads {
  /// The number of the current thread, unique while it lives.
  package static var current: UInt {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
  }

  /// Runs a closure on a Dispatch thread, now or after a delay.
  static func later(
    after delay: DispatchTimeInterval? = nil, qualityOfService: QualityOfService, _ body: @escaping @Sendable () -> Void
  ) {
    later(after: delay, on: qualityOfService.globalQueue, body)
  }

  /// The same, on a given queue.
  static func later(
    after delay: DispatchTimeInterval? = nil, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) {
    let pooled: @Sendable () -> Void = { withAutoreleasePool(body) }
    if let delay { queue.asyncAfter(deadline: .now() + delay, execute: pooled) } else { queue.async(execute: pooled) }
  }
}
