import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The life of an operation in a leak test.
enum LeakPath: CaseIterable, Sendable {
  case success, failure, cancelledBeforeStart, cancelledWhileRunning, neverStarted

  /// The outcome of the subject's only leaf.
  var leafOutcome: Outcome<Int> {
    switch self {
    case .success, .neverStarted: .success(1)
    case .failure: .failure(TestError.first)
    case .cancelledBeforeStart, .cancelledWhileRunning: .cancelled
    }
  }
}

/// One place where the API takes a closure, or one kind of operation.
///
/// `make` gets a leaf, which the test settles, and a probe; it returns an operation that contains
/// the leaf and keeps the probe in the closure in question, or nowhere.
struct LeakSubject: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable (HeldOperation<Int>, ReleaseProbe) -> any ComposableOperation

  init(_ description: String, _ make: @escaping @Sendable (HeldOperation<Int>, ReleaseProbe) -> any ComposableOperation)
  {
    testDescription = description
    self.make = make
  }

  static let all = hooks + observers + bodies + typed + sequences + timePolicies + policies + wrappers

  /// Completions and cancel hooks of every class that has them.
  private static let hooks: [LeakSubject] = [
    LeakSubject("completion of a simple operation") { leaf, probe in
      leaf.completion = { _ in probe.touch() }
      return leaf
    },
    LeakSubject("onCancel of a simple operation") { leaf, probe in
      leaf.onCancel = { probe.touch() }
      return leaf
    },
    LeakSubject("completion of a parallel composite") { leaf, probe in
      let composite = CompositeOperation(operations: [leaf])
      composite.completion = { _ in probe.touch() }
      return composite
    },
    LeakSubject("onCancel of a parallel composite") { leaf, probe in
      let composite = CompositeOperation(operations: [leaf])
      composite.onCancel = { probe.touch() }
      return composite
    },
    LeakSubject("completion of a sequential composite") { leaf, probe in
      let composite = CompositeOperation(sequence: ListSequence([leaf]))
      composite.completion = { _ in probe.touch() }
      return composite
    },
    LeakSubject("onCancel of a sequential composite") { leaf, probe in
      let composite = CompositeOperation(sequence: ListSequence([leaf]))
      composite.onCancel = { probe.touch() }
      return composite
    },
    LeakSubject("completion of a typed composition") { leaf, probe in
      let mapped = leaf.map { $0 }
      mapped.completion = { _ in probe.touch() }
      return mapped
    },
    LeakSubject("onCancel of a typed composition") { leaf, probe in
      let zipped = zip(leaf, succeeding(2))
      zipped.onCancel = { probe.touch() }
      return zipped
    },
  ]

  /// Observers, and everything that reads progress.
  private static let observers: [LeakSubject] = [
    LeakSubject("observer of a simple operation") { leaf, probe in
      leaf.addObserver { _ in probe.touch() }
      return leaf
    },
    LeakSubject("observer of a simple operation, on the main actor") { leaf, probe in
      leaf.addMainActorObserver { _ in probe.touch() }
      leaf.reportProgress(0.5)
      return leaf
    },
    LeakSubject("observer of a parallel composite") { leaf, probe in
      let composite = CompositeOperation(operations: [leaf])
      composite.addObserver { _ in probe.touch() }
      return composite
    },
    LeakSubject("observer of a sequential composite with a progress") { leaf, probe in
      let composite = CompositeOperation(sequence: ListSequence([leaf]))
      composite.addObserver { _ in probe.touch() }
      _ = composite.progress
      return composite
    },
    LeakSubject("observer of nested typed compositions") { leaf, probe in
      let chain = zip(leaf.map { $0 }, succeeding(2)).then { succeeding($0.0) }
      chain.addObserver { _ in probe.touch() }
      _ = chain.progress
      return chain
    },
    LeakSubject("tree observer of nested compositions") { leaf, probe in
      let composite = CompositeOperation(operations: [CompositeOperation(sequence: ListSequence([leaf]))])
      composite.addTreeObserver { _, _ in probe.touch() }
      return composite
    },
    LeakSubject("tree observer of a chain, on the main actor") { leaf, probe in
      let chain = zip(leaf.map { $0 }, succeeding(2)).then { succeeding($0.0) }
      chain.addMainActorTreeObserver { _, _ in probe.touch() }
      return chain
    },
    LeakSubject("event stream that is kept") { leaf, probe in
      let composite = CompositeOperation(operations: [leaf])
      let stream = composite.events()
      composite.completion = { _ in
        probe.touch()
        withExtendedLifetime(stream) {}
      }
      return composite
    },
  ]

  /// The closures that do the work of the subject itself, and of a child beside the leaf.
  private static let bodies: [LeakSubject] = [
    LeakSubject("body of a simple operation") { leaf, probe in
      // The body waits for the leaf by hand.
      SimpleOperation<Int> { operation in
        probe.touch()
        leaf.completion = { operation.settle(with: $0) }
        operation.onCancel = { leaf.cancel() }
        leaf.start()
      }
    },
    LeakSubject("work of an async operation") { leaf, probe in
      AsyncOperation<Int> {
        probe.touch()
        return try await leaf.run()
      }
    },
    LeakSubject("body of a child") { leaf, probe in
      let child = SimpleOperation<Int> { operation in
        probe.touch()
        operation.finish(with: 2)
      }
      return CompositeOperation(operations: [leaf, child])
    },
    LeakSubject("block of a plain child") { leaf, probe in
      CompositeOperation { [leaf, BlockOperation { probe.touch() }] }
    },
  ]

  private static let typed: [LeakSubject] = [
    LeakSubject("then") { leaf, probe in
      leaf.then { value in
        probe.touch()
        return succeeding(value)
      }
    },
    LeakSubject("operation made by then") { leaf, probe in
      succeeding(1).then { _ in
        probe.touch()
        return leaf
      }
    },
    LeakSubject("map") { leaf, probe in
      leaf.map { value in
        probe.touch()
        return value
      }
    },
    LeakSubject("mapAsync") { leaf, probe in
      leaf.mapAsync { value in
        probe.touch()
        await Task.yield()
        return value
      }
    },
    LeakSubject("recover") { leaf, probe in
      leaf.recover { _ in
        probe.touch()
        return succeeding(3)
      }
    },
    LeakSubject("forEach") { leaf, probe in
      forEach([1, 2, 3], maxConcurrent: 2) { number in
        probe.touch()
        return number == 2 ? leaf : succeeding(number)
      }
    },
  ]

  private static let sequences: [LeakSubject] = [
    LeakSubject("sequence delegate") { leaf, probe in
      CompositeOperation(
        sequence: ClosureSequence { previous in
          probe.touch()
          return previous == nil ? leaf : nil
        })
    },
    LeakSubject("steps of a LinearSequence") { leaf, probe in
      CompositeOperation(
        sequence: LinearSequence(
          { _ in
            probe.touch()
            return leaf
          },
          { _ in
            probe.touch()
            return succeeding(2)
          }))
    },
    LeakSubject("attempts of a RetrySequence") { leaf, probe in
      CompositeOperation(
        sequence: RetrySequence(maxAttempts: 2) { attempt in
          probe.touch()
          return attempt == 1 ? leaf : succeeding(2)
        })
    },
  ]

  /// Timers that are set for an hour must not keep objects that long.
  private static let timePolicies: [LeakSubject] = [
    LeakSubject("completion of a timeout") { leaf, probe in
      let timed = leaf.timeout(.seconds(3_600))
      timed.completion = { _ in probe.touch() }
      return timed
    },
    LeakSubject("timeout of a typed composition") { leaf, probe in
      leaf.map { value in
        probe.touch()
        return value
      }.timeout(.seconds(3_600), .waitsForWork)
    },
    LeakSubject("deadline") { leaf, probe in
      zip(leaf, holding(probe)).deadline(.now + .seconds(3_600), clock: ContinuousClock())
    },
    LeakSubject("factory of retrying") { leaf, probe in
      leaf.retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay)) { _ in
        probe.touch()
        return succeeding(2)
      }
    },
    LeakSubject("closures of a retry policy") { leaf, probe in
      var policy = RetryPolicy(maxAttempts: 2) { _, _ in
        probe.touch()
        return .retry
      }
      policy.delays = { _ in
        probe.touch()
        return .zero
      }
      return retrying(policy) { $0.number == 1 ? leaf : succeeding($0.number) }
    },
    LeakSubject("settled delay in a composite") { leaf, probe in
      let delay = DelayOperation(.seconds(3_600))
      delay.completion = { _ in probe.touch() }
      leaf.completion = { [weak delay] _ in delay?.finish() }
      return CompositeOperation(operations: [leaf, delay])
    },
  ]

  /// What conditions and exclusion keep.
  private static let policies: [LeakSubject] = [
    LeakSubject("decision about another attempt") { leaf, probe in
      failing(TestError.first, as: Int.self).retrying(RetryPolicy(backoff: .noDelay)) { _ in
        leaf
      } decide: { _ in
        probe.touch()
        return .retry
      }
    },
    LeakSubject("condition") { leaf, probe in
      leaf.condition(
        Condition("met") { _ in
          probe.touch()
          return true
        })
    },
    LeakSubject("prerequisite of a condition") { leaf, probe in
      struct After: OperationCondition {
        let leaf: HeldOperation<Int>
        let probe: ReleaseProbe
        func prerequisite(for context: ConditionContext) -> Operation? { leaf }
        func evaluate(_ context: ConditionContext) throws {
          if leaf.outcome?.value == nil { throw TestError.second }
        }
      }
      return succeeding(1).condition(After(leaf: leaf, probe: probe))
    },
    LeakSubject("exclusive") { leaf, probe in
      let registry = ExclusionRegistry()
      return zip(leaf.exclusive("x", in: registry), holding(probe).exclusive("x", "y", in: registry))
    },
    LeakSubject("limited, in limited") { leaf, probe in
      let limit = SharedLimit(maxConcurrent: 3, rate: .tokens(1_000, per: .seconds(1)))
      return zip(leaf.limited(by: limit, weight: 2), holding(probe).limited(by: limit)).limited(by: limit)
    },
    LeakSubject("exclusive in exclusive, a condition between") { leaf, probe in
      let registry = ExclusionRegistry()
      let dependent = holding(probe)
      dependent.addDependency(leaf)
      return CompositeOperation(operations: [
        leaf.exclusive("x", in: registry),
        dependent.exclusive("y", in: registry).condition(!Condition("unmet") { _ in false }),
      ]).exclusive("x", in: registry)
    },
  ]

  /// Operations of all kinds around the leaf; the probe is in a child.
  private static let wrappers: [LeakSubject] = [
    LeakSubject("zip") { leaf, probe in zip(leaf, holding(probe)) },
    LeakSubject("all") { leaf, probe in CompositeOperations.all([holding(probe), leaf], maxConcurrent: 2) },
    LeakSubject("firstSuccess") { leaf, probe in
      firstSuccess(of: [leaf, holding(probe).map { _ in throw TestError.second }])
    },
    LeakSubject("parallel on a queue") { leaf, probe in
      CompositeOperation(operations: [leaf, holding(probe)], operationQueue: OperationQueue())
    },
    LeakSubject("sequential on a queue") { leaf, probe in
      CompositeOperation(sequence: ListSequence([holding(probe), leaf]), operationQueue: OperationQueue(limit: 1))
    },
    LeakSubject("child with dependencies") { leaf, probe in
      let child = holding(probe)
      child.addDependency(leaf)
      return CompositeOperation(operations: [child, leaf])
    },
    LeakSubject("nested composites") { leaf, probe in
      CompositeOperation(
        operations: [
          CompositeOperation(sequence: ListSequence([holding(probe), CompositeOperation(operations: [leaf])])),
          holding(probe).then { _ in CompositeOperation(operations: [succeeding(1)]) },
        ])
    },
  ]

  private static func holding(_ probe: ReleaseProbe) -> SimpleOperation<Int> {
    SimpleOperation { operation in
      probe.touch()
      operation.finish(with: 5)
    }
  }
}
