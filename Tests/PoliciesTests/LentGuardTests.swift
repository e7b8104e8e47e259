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

  /// A guard around `inner` that waits for a category which another operation holds.
  private func outerThatWaits(
    _ inner: SimpleOperation<Int>, in registry: ExclusionRegistry
  ) async -> (outer: SimpleOperation<Int>, holder: HeldOperation<Int>) {
    let holder = HeldOperation<Int>()
    let holding = holder.exclusive("outer", in: registry)
    await onWorker { holding.start() }
    await holder.started.wait()
    let outer = inner.exclusive("outer", in: registry)
    await onWorker { outer.start() }
    await until(registry.waitingCount == 1)
    return (outer, holder)
  }

  @Test("An inner guard that a queue starts while the outer guard waits still guards its operation")
  func inner_startedByAQueueWhileLent_waitsForItsCategory() async {
    let (registry, queue) = (ExclusionRegistry(), OperationQueue())
    let other = HeldOperation<Int>()
    let holdingInner = other.exclusive("inner", in: registry)
    await onWorker { holdingInner.start() }
    await other.started.wait()
    let work = HeldOperation<Int>()
    let inner = work.exclusive("inner", in: registry)
    let (outer, holder) = await outerThatWaits(inner, in: registry)
    queue.addOperation(inner)
    await until(registry.waitingCount == 2)
    #expect(!work.started.isOpen)
    other.finish(with: 1)
    await work.started.wait()
    work.finish(with: 2)
    #expect(await settled(inner).value == 2)
    holder.finish(with: 1)
    #expect(await settled(outer).value == 2)
    await until(registry.isUnused)
  }

  #if !canImport(Darwin)
  @Test("An operation inside two guards that is queued while the outer guard waits is run by the queue")
  func work_queuedWhileTheOuterGuardWaits_isAwaited() async {
    let (registry, queue) = (ExclusionRegistry(), OperationQueue())
    queue.isSuspended = true
    let work = succeeding(2)
    let (outer, holder) = await outerThatWaits(work.exclusive("inner", in: registry), in: registry)
    queue.addOperation(work)
    holder.finish(with: 1)
    await until(registry.waitingCount == 0)
    queue.isSuspended = false
    #expect(await settled(outer).value == 2)
    await until(registry.isUnused)
  }
  #endif

  @Test("The condition of an inner guard sees the values of the inner operation")
  func condition_insideAGuard_seesItsOwnValues() async {
    OperationContext.propagate(LentGuardValue.$number)
    let seen = Locked<[Int?]>([])
    let inner = LentGuardValue.$number.withValue(7) {
      succeeding(1).condition(
        Condition("c") { _ in
          seen.withLock { $0.append(LentGuardValue.number) }
          return true
        })
    }
    let outer = LentGuardValue.$number.withValue(8) { inner.exclusive("x", in: ExclusionRegistry()) }
    #expect(await outcomeOfStarting(outer).value == 1)
    #expect(seen.current == [7])
  }
}

private enum LentGuardValue {
  @TaskLocal static var number: Int?
}
