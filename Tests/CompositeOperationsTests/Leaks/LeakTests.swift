import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Nothing outlives its use: each closure that the API takes, on each path that an operation can
/// take, and the operations themselves.
@Suite("3.1.2, 3.1.5 Nothing leaks")
struct LeakTests {
  /// What may remain after the operation has ended, or was released unstarted.
  private struct Remains: Sendable {
    let probe: WeakReference<ReleaseProbe>
    let leaf: WeakReference<HeldOperation<Int>>
    let operation: WeakReference<Operation>
  }

  @Test(arguments: LeakSubject.all, LeakPath.allCases)
  func operationAndClosure_afterUse_areReleased(subject: LeakSubject, path: LeakPath) async {
    let remains = await LeakTests.run(subject, path) { _ in }
    let isReleased = await Patience.reached {
      remains.probe.object == nil && remains.leaf.object == nil && remains.operation.object == nil
    }
    #expect(
      isReleased,
      """
      left: closure \(remains.probe.object != nil), leaf \(remains.leaf.object != nil), \
      operation \(remains.operation.object != nil)
      """)
  }

  /// A settled operation that is still held no longer holds the captures of its closures. The
  /// captures of a composite's children are released with their bodies.
  @Test(arguments: LeakSubject.all, LeakPath.allCases.filter { $0 != .neverStarted })
  func closure_whileSettledOperationIsHeld_isReleased(subject: LeakSubject, path: LeakPath) async {
    // A plain operation's block is Foundation's, and lives as long as the operation.
    if subject.testDescription == "block of a plain child" { return }
    let held = Locked<Operation?>(nil)
    let remains = await LeakTests.run(subject, path) { operation in held.withLock { $0 = operation } }
    let isReleased = await Patience.reached { remains.probe.object == nil }
    #expect(isReleased)
    #expect(held.withLock { $0?.isFinished } == true)
  }

  /// Makes the operation, takes it along the path, and releases it.
  private static func run(
    _ subject: LeakSubject, _ path: LeakPath, _ keep: (Operation) -> Void
  ) async -> Remains {
    let leaf = HeldOperation<Int>()
    let (operation, probe) = make(subject, leaf)
    keep(operation)
    let remains = Remains(probe: probe, leaf: WeakReference(leaf), operation: WeakReference(operation))
    switch path {
    case .neverStarted:
      break
    case .success, .failure:
      await onWorker { operation.start() }
      await leaf.started.wait()
      leaf.settle(with: path.leafOutcome)
      await end(of: operation)
    case .cancelledBeforeStart:
      operation.cancel()
      await onWorker { operation.start() }
      await end(of: operation)
    case .cancelledWhileRunning:
      await onWorker { operation.start() }
      await leaf.started.wait()
      operation.cancel()
      leaf.settle(with: path.leafOutcome)
      await end(of: operation)
    }
    return remains
  }

  /// A function of its own, so that no temporary of the caller keeps the probe.
  private static func make(
    _ subject: LeakSubject, _ leaf: HeldOperation<Int>
  ) -> (any ComposableOperation, WeakReference<ReleaseProbe>) {
    let probe = ReleaseProbe(Gate())
    return (subject.make(leaf, probe), WeakReference(probe))
  }

  private static func end<O: ComposableOperation>(of operation: O) async {
    _ = await settled(operation)
  }
}
