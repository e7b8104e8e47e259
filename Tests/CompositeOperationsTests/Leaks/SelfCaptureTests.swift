import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Closures that capture their operation, or the one that contains it: a retain cycle that must be
/// broken when the operation settles.
@Suite("3.1.2 A closure that captures its operation leaks nothing")
struct SelfCaptureTests {
  /// Makes a retain cycle around an operation that contains `leaf`, and returns the operation to
  /// run.
  struct Circle: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (_ leaf: HeldOperation<Int>) -> any ComposableOperation

    init(_ description: String, _ make: @escaping @Sendable (HeldOperation<Int>) -> any ComposableOperation) {
      testDescription = description
      self.make = make
    }

    static let all: [Circle] = [
      Circle("completion and onCancel of a simple operation") { leaf in
        leaf.completion = { _ in _ = leaf.isFinished }
        leaf.onCancel = { _ = leaf.isFinished }
        return leaf
      },
      Circle("completion and onCancel of a composite") { leaf in
        let composite = CompositeOperation(operations: [leaf, succeeding(2)])
        composite.completion = { _ in _ = composite.childOutcomes }
        composite.onCancel = { _ = composite.operations }
        return composite
      },
      Circle("observers of an operation and of its composite") { leaf in
        let composite = CompositeOperation(operations: [leaf, succeeding(2)])
        leaf.addObserver { _ in _ = composite.operations }
        composite.addObserver { _ in _ = composite.childOutcomes }
        composite.addMainActorObserver { _ in _ = composite.progress }
        return composite
      },
      Circle("child's completion holds its composite") { leaf in
        let composite = CompositeOperation(operations: [leaf, succeeding(2)])
        leaf.completion = { _ in _ = composite.operations }
        leaf.onCancel = { _ = composite.operations }
        return composite
      },
      Circle("step's completion holds its sequence") { leaf in
        let composite = CompositeOperation(sequence: ListSequence([leaf]))
        leaf.completion = { _ in _ = composite.childOutcomes }
        return composite
      },
      Circle("typed composition's completion, and that of its upstream") { leaf in
        let chain = leaf.map { $0 + 1 }.then { succeeding($0) }
        chain.completion = { _ in _ = chain.outcome }
        leaf.completion = { _ in _ = chain.outcome }
        return chain
      },
      Circle("closure of a then holds its upstream") { leaf in
        leaf.then { value in leaf.isFinished ? succeeding(value) : failing(TestError.second) }
      },
      Circle("two children hold each other") { leaf in
        let other = SimpleOperation<Int> { operation in operation.finish(with: leaf.isFinished ? 1 : 0) }
        leaf.completion = { _ in _ = other.isFinished }
        return CompositeOperation(operations: [leaf, other])
      },
    ]
  }

  @Test(arguments: Circle.all, LeakPath.allCases.filter { $0 != .neverStarted })
  func operation_heldByItsOwnClosures_isReleased(circle: Circle, path: LeakPath) async {
    let (leaf, operation) = await SelfCaptureTests.run(circle, path)
    let isReleased = await Patience.reached { leaf.object == nil && operation.object == nil }
    #expect(isReleased, "left: leaf \(leaf.object != nil), operation \(operation.object != nil)")
  }

  private static func run(
    _ circle: Circle, _ path: LeakPath
  ) async -> (WeakReference<HeldOperation<Int>>, WeakReference<Operation>) {
    let leaf = HeldOperation<Int>()
    let operation = circle.make(leaf)
    if path == .cancelledBeforeStart { operation.cancel() }
    await onWorker { operation.start() }
    if path != .cancelledBeforeStart { await leaf.started.wait() }
    if path == .cancelledWhileRunning { operation.cancel() }
    leaf.settle(with: path.leafOutcome)
    await end(of: operation)
    return (WeakReference(leaf), WeakReference(operation))
  }

  private static func end<O: ComposableOperation>(of operation: O) async {
    _ = await settled(operation)
  }
}
