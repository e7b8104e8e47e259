import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A dependency finishes while its dependent is cancelled and released.
///
/// On Linux a finishing dependency follows unretained pointers to its dependents. A dependent
/// released too early is no test failure but ends the process, or under `MALLOC_PERTURB_` hangs it.
@Suite(.serialized)
struct DependencyRaceTests {
  enum Upstream: CaseIterable {
    case simple, plain, block

    /// An operation, and what makes it finish.
    fileprivate func make() -> (Operation, @Sendable () -> Void) {
      switch self {
      case .simple:
        let operation = HeldOperation<Void>()
        operation.start()
        return (operation, { operation.finish() })
      case .plain:
        let operation = AsyncPlainOperation()
        operation.start()
        return (operation, { operation.complete() })
      case .block:
        let operation = BlockOperation {}
        return (operation, { operation.start() })
      }
    }
  }

  enum Dependent: CaseIterable {
    case child, plainChild, cancelledChild, cancelledPlainChild, secondStep, root, rootInQueue

    /// Makes an object that waits, or is about to wait, for the upstream operation, and is held
    /// only by the result.
    fileprivate func make(after upstream: Operation) -> any ComposableOperation {
      switch self {
      case .child, .plainChild, .cancelledChild, .cancelledPlainChild:
        let isPlain = self == .plainChild || self == .cancelledPlainChild
        let child = isPlain ? BlockOperation {} : SimpleOperation<Void> { $0.finish() }
        child.addDependency(upstream)
        if self == .cancelledChild || self == .cancelledPlainChild { child.cancel() }
        let composite = CompositeOperation(operations: [child])
        composite.start()
        return composite
      case .secondStep:
        let handedOut = Gate()
        let step = SimpleOperation<Void> { $0.finish() }
        step.addDependency(upstream)
        let composite = CompositeOperation(
          sequence: LinearSequence(
            { _ in SimpleOperation<Void> { $0.finish() } },
            { _ in
              handedOut.open()
              return step
            }))
        composite.start()
        // A plain dependent that was never started is released with its dependency, against which
        // Foundation has no defence.
        handedOut.waitBlocking()
        return composite
      case .root, .rootInQueue:
        let root = SimpleOperation<Void> { $0.finish() }
        root.addDependency(upstream)
        if self == .rootInQueue { OperationQueue().addOperation(root) }
        return root
      }
    }
  }

  @Test(arguments: Upstream.allCases, Dependent.allCases)
  func cancel_whileDependencyFinishes_leavesNoDanglingPointer(upstream: Upstream, dependent: Dependent) async {
    let complaints = await Race.run(rounds: Scale.count(2_000, least: 100), threads: 2) { _, _ in
      let (operation, finish) = upstream.make()
      let held = Locked<(any ComposableOperation)?>(dependent.make(after: operation))
      let bodies: [@Sendable () -> Void] = [
        { finish() },
        {
          // No other reference exists, so it is released at once if nothing waits for it.
          var last = held.withLock { $0.take() }
          last?.cancel()
          if dependent == .root { last?.start() }
          last = nil
        },
      ]
      return Race.Round(bodies: bodies) { complaint("\(operation) has not finished", unless: operation.isFinished) }
    }
    #expect(complaints.isEmpty)
  }

  enum Circle: CaseIterable {
    case simple, plain, mixed

    /// Makes two operations that wait for each other.
    fileprivate func make() -> [Operation] {
      let isPlain = self == .plain ? [true, true] : self == .mixed ? [true, false] : [false, false]
      let pair = isPlain.map { $0 ? BlockOperation {} : SimpleOperation<Void> { $0.finish() } }
      pair[0].addDependency(pair[1])
      pair[1].addDependency(pair[0])
      return pair
    }
  }

  /// On Linux an operation that leaves a dependency locks the dependency and then itself; one that
  /// finishes locks itself and then its dependents.
  @Test(arguments: Circle.allCases)
  func circleOfTwo_abandonedByTwoThreads_neitherWaitsForTheOther(circle: Circle) async {
    let complaints = await Race.run(rounds: Scale.count(20_000, least: 1_000), threads: 2) { _, _ in
      let composites = circle.make().map { CompositeOperation(operations: [$0]) }
      for composite in composites { composite.cancel() }
      let bodies = composites.map { composite -> @Sendable () -> Void in { composite.start() } }
      return Race.Round(bodies: bodies) {
        complaint("a composite has not finished", unless: composites.allSatisfy(\.isFinished))
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test(arguments: Circle.allCases, [true, false])
  func circleOfTwo_endedOnTwoWorkers_neitherWaitsForTheOther(circle: Circle, isCancelled: Bool) async {
    for _ in 0..<Scale.count(20_000, least: 1_000) {
      let pair = circle.make()
      if isCancelled { for operation in pair { operation.cancel() } }
      let composite = CompositeOperation(operations: pair)
      _ = await outcomeOfStarting(composite)
    }
  }

  @Test func unstarted_releasedAsItsDependencyFinishes_doesNotHoldThatUp() async {
    let never = HeldOperation<Void>()
    @Sendable func waiting(for upstream: Operation) -> Locked<SimpleOperation<Void>?> {
      let operation = SimpleOperation<Void> { $0.finish() }
      operation.addDependency(upstream)
      operation.addDependency(never)
      return Locked(operation)
    }
    let complaints = await Race.run(rounds: Scale.count(20_000, least: 1_000), threads: 2) { _, _ in
      let upstream = HeldOperation<Void>()
      upstream.start()
      let held = waiting(for: upstream)
      let bodies: [@Sendable () -> Void] = [{ upstream.finish() }, { _ = held.withLock { $0.take() } }]
      return Race.Round(bodies: bodies) { complaint("it has not finished", unless: upstream.isFinished) }
    }
    #expect(complaints.isEmpty)
  }

  /// What reads `dependencies` finds no circle, so no lock is held in which the override waits.
  @Test func overrideOfRemoveDependency_mayWaitForAnotherOperationThatLeaves() async {
    let never = HeldOperation<Void>()
    let child = Leaving {
      let other = SimpleOperation<Void> { $0.finish() }
      other.addDependency(never)
      let isSettled = Gate()
      Thread.detachNewThread {
        other.settle(with: .success(()))
        isSettled.open()
      }
      isSettled.waitBlocking()
    }
    child.addDependency(never)
    let composite = CompositeOperation(operations: [child])
    composite.cancel()
    #expect(await outcomeOfStarting(composite).isCancelled)
  }

  /// A plain operation that calls a closure before it leaves a dependency.
  private final class Leaving: Operation, @unchecked Sendable {  // immutable
    private let whenLeaving: @Sendable () -> Void

    init(_ whenLeaving: @escaping @Sendable () -> Void) { self.whenLeaving = whenLeaving }

    override func removeDependency(_ operation: Operation) {
      whenLeaving()
      super.removeDependency(operation)
    }
  }
}
