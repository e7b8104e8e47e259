import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The closures of sequences and typed compositions are released with their operation, also when
/// they capture it.
@Suite("3.1.2 Closures of compositions are released", .hangLimit)
struct ReleaseOfCompositionTests {
  @Test("3.1.2 Closures given to typed composition and to sequences are released", arguments: ClosureHolder.all)
  func closure_afterSettling_isReleased(holder: ClosureHolder) async {
    let released = Gate()
    await {
      let operation = holder.make(ReleaseProbe(released))
      await holder.run(operation)
      #expect(operation.isFinished)
    }()
    await released.wait()
  }

  @Test("3.1.2 The same, of operations that were cancelled before they started", arguments: ClosureHolder.all)
  func closure_cancelledBeforeStart_isReleased(holder: ClosureHolder) async {
    let released = Gate()
    await {
      let operation = holder.make(ReleaseProbe(released))
      operation.cancel()
      await holder.run(operation)
      #expect(operation.isFinished)
    }()
    await released.wait()
  }

  @Test("3.1.2 The same, of operations that never started", arguments: ClosureHolder.all)
  func closure_neverStarted_isReleased(holder: ClosureHolder) async {
    let released = Gate()
    do {
      let operation = holder.make(ReleaseProbe(released))
      #expect(!operation.isFinished)
    }
    await released.wait()
  }

  @Test("3.1.2 A child that holds its composite in its completion leaks nothing")
  func child_holdingItsComposite_leaksNothing() async {
    let (composite, child) = await {
      let child = succeeding(1)
      let composite = CompositeOperation(operations: [child, Doubling(2)])
      child.completion = { _ in _ = composite.operations.count }
      _ = await outcomeOfStarting(composite)
      return (WeakReference(composite), WeakReference(child))
    }()
    await untilReleased(composite)
    await untilReleased(child)
  }

  @Test("3.1.2 A finished composite and its children are released together with the last reference")
  func composite_finished_isReleasedWithChildren() async {
    let released = (0..<3).map { _ in Gate() }
    await {
      let children = released.map { gate in
        let probe = ReleaseProbe(gate)
        let child = SimpleOperation<ReleaseProbe> { $0.finish(with: probe) }
        return child
      }
      let composite = CompositeOperation(operations: children)
      #expect(await outcomeOfStarting(composite).value?.count == 3)
    }()
    for gate in released { await gate.wait() }
  }
}

/// An API that takes a closure, with an operation whose closure holds a probe.
struct ClosureHolder: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable (ReleaseProbe) -> Operation
  let run: @Sendable (Operation) async -> Void

  /// `make` returns an operation whose closure touches the probe.
  init<O: ComposableOperation>(_ description: String, _ make: @escaping @Sendable (ReleaseProbe) -> O) {
    testDescription = description
    self.make = make
    run = { operation in
      guard let operation = operation as? O else { return }
      _ = await outcomeOfStarting(operation)
    }
  }

  static let all: [ClosureHolder] = [
    ClosureHolder("map") { probe in
      succeeding(1).map {
        probe.touch()
        return $0
      }
    },
    ClosureHolder("mapAsync") { probe in
      succeeding(1).mapAsync {
        probe.touch()
        return $0
      }
    },
    ClosureHolder("then") { probe in
      succeeding(1).then { value in
        probe.touch()
        return succeeding(value)
      }
    },
    ClosureHolder("recover") { probe in
      failing(TestError.first).recover { _ in
        probe.touch()
        return succeeding(1)
      }
    },
    ClosureHolder("recover that was not needed") { probe in
      succeeding(2).recover { _ in
        probe.touch()
        return succeeding(1)
      }
    },
    ClosureHolder("forEach") { probe in
      forEach([1, 2, 3], maxConcurrent: 2) { number in
        probe.touch()
        return succeeding(number)
      }
    },
    ClosureHolder("sequence delegate") { probe in
      CompositeOperation(
        sequence: ClosureSequence { previous in
          probe.touch()
          return previous == nil ? succeeding(1) : nil
        })
    },
    ClosureHolder("LinearSequence") { probe in
      CompositeOperation(
        sequence: LinearSequence({ _ in
          probe.touch()
          return succeeding(1)
        }))
    },
    ClosureHolder("RetrySequence") { probe in
      CompositeOperation(
        sequence: RetrySequence(maxAttempts: 2) { _ in
          probe.touch()
          return failing(TestError.first)
        })
    },
    ClosureHolder("children in zip") { probe in
      zip(
        SimpleOperation<Int> { operation in
          probe.touch()
          operation.finish(with: 1)
        }, succeeding("a"))
    },
  ]
}
