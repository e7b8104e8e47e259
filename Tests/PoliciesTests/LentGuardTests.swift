import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// A guard around a guard takes over the inner guard's operation. A program may start the inner
/// guard, which it has composed, at that moment.
@Suite("8 A guard inside a guard", .hangLimit)
struct LentGuardTests {
  /// Calls a closure when its dependencies are read, which an outer guard does while it takes it
  /// over.
  private final class Asked: SimpleOperation<Int>, @unchecked Sendable {  // set before it is started
    var whenAsked: (@Sendable () -> Void)?

    override func main() { finish(with: 1) }

    override var dependencies: [Operation] {
      whenAsked?()
      return super.dependencies
    }
  }

  @Test func start_whileItsOperationIsLent_bothSettleAlike() async {
    for _ in 0..<Scale.count(200, least: 20) {
      let operation = Asked()
      let dependency = BlockOperation()
      dependency.start()
      operation.addDependency(dependency)
      let inner = operation.exclusive(ExclusionCategory("inner \(UUID())"))
      let outer = inner.exclusive(ExclusionCategory("outer \(UUID())"))
      let isAsked = Locked(false)
      operation.whenAsked = {
        let isFirst = isAsked.withLock { isAsked in
          defer { isAsked = true }
          return !isAsked
        }
        guard isFirst else { return }
        inner.start()
        // Time for another thread to reach the lent operation.
        for _ in 0..<50 { sched_yield() }
      }
      let outcome = await outcomeOfStarting(outer)
      #expect(outcome.value == 1)
      #expect(operation.isFinished)
    }
  }
}
