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
    let queue = qualityOfService.globalQueue
    let pooled: @Sendable () -> Void = { withAutoreleasePool(body) }
    if let delay { queue.asyncAfter(deadline: .now() + delay, execute: pooled) } else { queue.async(execute: pooled) }
  }
}
