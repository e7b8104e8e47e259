import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A dependency finishes at the moment in which what depends on it is cancelled and released.
///
/// On Linux a dependency that finishes follows pointers to its dependents that it does not retain.
/// What is gone too early is not seen as an issue but ends the process, or under `MALLOC_PERTURB_`
/// hangs it.
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

    /// Makes something that waits for the upstream operation, or is about to, and is held only by
    /// what is returned.
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
        // One that nobody has taken on is released as it is, and Foundation has no defence against
        // that.
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
          // Nothing else holds it, so it is released at once, where nobody waits for it any more.
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
