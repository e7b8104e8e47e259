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
}
