import Dispatch
import Foundation

enum Threads {
  /// Runs a closure on a Dispatch thread, now or after a delay.
  static func later(
    after delay: DispatchTimeInterval? = nil, qualityOfService: QualityOfService, _ body: @escaping @Sendable () -> Void
  ) {
    let queue = qualityOfService.globalQueue
    let pooled: @Sendable () -> Void = { withAutoreleasePool(body) }
    if let delay { queue.asyncAfter(deadline: .now() + delay, execute: pooled) } else { queue.async(execute: pooled) }
  }
}
