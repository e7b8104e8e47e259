import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Edge cases in which a composition meets a concurrent event.
@Suite("3.2, 3.3 Compositions, edges", .hangLimit)
struct CompositionEdgeTests {
  @Test("3.1.4 A composite that is cancelled inside its main runs no child", arguments: [true, false])
  func cancel_insideMain_runsNothing(isParallel: Bool) async {
    let recorder = EventRecorder<Int>()
    let children = (0..<3).map { number in
      SimpleOperation<Int> { operation in
        recorder.record(number)
        operation.finish(with: number)
      }
    }
    let composite =
      isParallel
      ? CancelledInMain(operations: children) : CancelledInMain(sequence: ListSequence(children))
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(recorder.events == [])
    if isParallel { #expect(children.allSatisfy { $0.outcome?.isCancelled == true }) }
  }

  /// Each returns an operation made of the first, which depends on something.
  static let compositions: [@Sendable (SimpleOperation<Int>) -> Operation] = [
    { CompositeOperation(operations: [$0]) }, { CompositeOperation(sequence: ListSequence([$0])) }, { $0.map { $0 } },
    { upstream in upstream.then { succeeding($0) } }, { zip($0, succeeding(2)) }, { all([$0], maxConcurrent: 1) },
    { firstSuccess(of: [$0]) }, { child in forEach([1], maxConcurrent: 1) { _ in child } },
    { child in succeeding(1).then { _ in child } },
  ]

  @Test(
    "3.2 A child with a dependency starts when that has finished, in every kind of composition",
    arguments: compositions.indices)
  func dependency_finishes_startsChild(_ index: Int) async {
    let (dependency, child) = (SimpleOperation<Int>(), succeeding(1))
    child.addDependency(dependency)
    let composition = CompositionEdgeTests.compositions[index](child)
    await onWorker { composition.start() }
    await Patience.untilAwaited(child)
    #expect(child.outcome == nil)
    dependency.finish(with: 1)
    await finished(composition)
    #expect(child.result == 1)
    #expect(composition.anyOutcome?.value != nil)
  }

  @Test(
    "3.2 Cancelled meanwhile, the composition settles the child, in every kind of composition",
    arguments: compositions.indices)
  func cancel_childWaits_settlesIt(_ index: Int) async {
    let (dependency, child) = (SimpleOperation<Int>(), succeeding(1))
    child.addDependency(dependency)
    let composition = CompositionEdgeTests.compositions[index](child)
    await onWorker { composition.start() }
    await Patience.untilAwaited(child)
    composition.cancel()
    await finished(composition)
    #expect(composition.anyOutcome?.isCancelled == true)
    #expect(child.outcome?.isCancelled == true && child.isFinished)
  }

  @Test("A child that other code settles while it waits counts at once", arguments: compositions.indices)
  func child_settledWhileItWaits_counts(_ index: Int) async {
    let (dependency, child) = (SimpleOperation<Int>(), succeeding(1))
    child.addDependency(dependency)
    let composition = CompositionEdgeTests.compositions[index](child)
    await onWorker { composition.start() }
    await Patience.untilAwaited(child)
    child.finish(with: 7)
    await finished(composition)
    #expect(composition.anyOutcome?.value != nil)
    #expect(dependency.outcome == nil)
  }

  @Test("3.2 Compositions that are children of a cancelled zip, all or forEach are settled, and it settles")
  func cancel_compositionsAsChildren_settles() async {
    let children = (0..<2).map { _ in succeeding(1).map { $0 } }
    let both = zip(children[0], children[1])
    both.cancel()
    #expect(await outcomeOfStarting(both).isCancelled)
    #expect(children.allSatisfy { $0.outcome?.isCancelled == true })

    let itself = Locked<Operation?>(nil)
    let made = succeeding(1).map { $0 }
    let each = forEach([1], maxConcurrent: 1) { _ in
      itself.current?.cancel()
      return made
    }
    itself.withLock { $0 = each }
    #expect(await outcomeOfStarting(each).isCancelled)
    #expect(made.outcome?.isCancelled == true)
  }

  @Test("3.2 The same operation ten thousand times is refused in linear time, each place with its reason")
  func child_tenThousandTimes_isRefused() async {
    let child = succeeding(1)
    let composite = CompositeOperation(operations: Array(repeating: child, count: 10_000))
    let error = await outcomeOfStarting(composite).error as? CompositeError
    #expect(error?.failures.count == 9_999)
    #expect(error?.failures.allSatisfy { ($0.error as? OperationError)?.code == .duplicateChild } == true)
  }

  @Test(
    "Twice as many children, twice as many reads of their priorities: no claim looks at all of them",
    arguments: [OperationQueue.defaultMaxConcurrentOperationCount, 2])
  func claim_ofMany_looksAtFew(limit: Int) async {
    var reads: [Int] = []
    for count in [200, 400] {
      let counted = Locked(0)
      let composite = CompositeOperation(operations: (0..<count).map { _ in PriorityReader(counted) })
      composite.maxConcurrentOperationCount = limit
      #expect(await outcomeOfStarting(composite).value?.count == count)
      reads.append(counted.current)
    }
    #expect(reads[1] <= 3 * reads[0] && reads[0] <= 20 * 200, "\(reads)")
  }

  @Test("A plain child whose isReady is false for a while is polled, but not too often")
  func child_overridesIsReady_isPolledWithPauses() async {
    let child = ReadyLater(after: 6)
    #expect(await outcomeOfStarting(CompositeOperation(operations: [child])).value?.count == 1)
    #expect(child.asked.current >= 6)
  }

  @Test("A plain child whose isReady is false when its composite is cancelled: it ends once it is ready")
  func child_notReadyWhenCancelled_endsOnceItIsReady() async {
    let child = ReadyWhenAllowed()
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    await until(child.asked.current >= 3)
    composite.cancel()
    #expect(!composite.isFinished)
    child.isAllowed.withLock { $0 = true }
    #expect(await settled(composite).isCancelled)
    #expect(child.isFinished && (1...2).contains(child.cancels.current))
  }

  @Test("A cancelled plain child whose isReady looks at its dependencies does not wait for them")
  func child_readyByItsDependencies_endsWhenCancelled() async {
    let (never, child) = (BlockOperation {}, ReadyByDependencies())
    child.addDependency(never)
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    composite.cancel()
    #expect(await settled(composite).isCancelled)
  }

  @Test("A plain child whose cancel() does not call super ends once its dependency has finished")
  func child_cancelsWithoutSuper_endsAfterItsDependency() async {
    let (dependency, child) = (BlockOperation {}, DeafToCancel())
    child.addDependency(dependency)
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    composite.cancel()
    await onWorker { dependency.start() }
    #expect(await settled(composite).isCancelled)
  }

  @Test("After a cancel a dependency that never finishes is released")
  func cancel_dependencyNeverFinishes_releasesIt() async {
    let released = Gate()
    do {
      let probe = ReleaseProbe(released)
      let dependency = SimpleOperation<Int>()
      dependency.completionBlock = { probe.touch() }
      let child = succeeding(1)
      child.addDependency(dependency)
      let composite = CompositeOperation(operations: [child])
      await onWorker { composite.start() }
      await Patience.untilAwaited(child)
      composite.cancel()
      #expect(await settled(composite).isCancelled)
    }
    await released.wait()
  }

  @Test(
    "3.2 A foreign operand that has failed counts when another is cancelled before the composition is told")
  func cancel_afterTheirsFailed_isFailure() async {
    let (theirs, sibling) = (HeldOperation<Int>(), HeldOperation<Int>(settlesWhenCancelled: true))
    // Called before the composition, because it was added first.
    let cancelling = SettlementClosure { sibling.cancel() }
    #expect(theirs.observe(cancelling))
    theirs.start()
    let both = all([theirs, sibling])
    let composition = both.composition
    await onWorker { both.start() }
    await sibling.started.wait()
    await until(composition?.table.withLock { $0.phase(of: 0) } == .joined)
    theirs.reject(with: TestError.first)
    #expect(await settled(both).error as? TestError == .first)
    #expect(sibling.outcome?.isCancelled == true)
  }
}

private final class CancelledInMain: CompositeOperation, @unchecked Sendable {  // stores nothing
  override func main() {
    cancel()
    super.main()
  }
}

/// Calls a closure when an operation has settled.
private final class SettlementClosure: SettlementObserver {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  func operationDidSettle(_ operation: Operation, tag: Int) { body() }
}

/// Counts how often its priority is read.
private final class PriorityReader: SimpleOperation<Void>, @unchecked Sendable {  // immutable
  private let reads: Locked<Int>

  init(_ reads: Locked<Int>) {
    self.reads = reads
    super.init()
  }

  override var queuePriority: QueuePriority {
    get {
      reads.increment()
      return super.queuePriority
    }
    set { super.queuePriority = newValue }
  }

  override func main() { finish() }
}

private final class ReadyByDependencies: Operation, @unchecked Sendable {  // no state
  override var isReady: Bool { super.isReady && dependencies.allSatisfy(\.isFinished) }
}

private final class DeafToCancel: Operation, @unchecked Sendable {  // no state
  override func cancel() {}
}

/// A plain operation that is ready when it is allowed to be.
private final class ReadyWhenAllowed: Operation, @unchecked Sendable {  // immutable
  let asked = Locked(0)
  let cancels = Locked(0)
  let isAllowed = Locked(false)

  override var isReady: Bool {
    asked.increment()
    return isAllowed.current && super.isReady
  }

  override func cancel() {
    cancels.increment()
    super.cancel()
  }
}

/// A plain operation that becomes ready after `isReady` was read the given number of times.
private final class ReadyLater: Operation, @unchecked Sendable {  // immutable
  let asked = Locked(0)
  private let count: Int

  init(after count: Int) {
    self.count = count
    super.init()
  }

  override var isReady: Bool { asked.increment() > count && super.isReady }
}
