import CompositeOperations
import Foundation
import TestSupport
import Testing

/// An upstream that is executing, queued or settled already is joined, not started; only the owner
/// that started it cancels it.
@Suite("3.2 Typed: joining an upstream", .hangLimit)
struct JoiningTests {
  @Test("3.2 An executing upstream is joined: it runs once and its value is used", arguments: Composition.all)
  func upstream_executing_isJoined(composition: Composition) async {
    let upstream = HeldOperation<Int>()
    upstream.start()
    let composed = composition.make(upstream)
    await onWorker { composed.start() }
    #expect(composed.outcome == nil)
    upstream.finish(with: 5)
    #expect(await settled(composed).value == 5)
  }

  @Test("3.2 A queued upstream is joined: its queue runs it", arguments: Composition.all)
  func upstream_queued_isJoined(composition: Composition) async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let ranIn = Locked<OperationQueue?>(nil)
    let upstream = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 5)
    }
    queue.addOperation(upstream)
    let composed = composition.make(upstream)
    await onWorker { composed.start() }
    // By now the upstream would have been started: a composition of the same shape has completed.
    _ = await outcomeOfStarting(composition.make(succeeding(1)))
    #expect(upstream.outcome == nil)
    queue.isSuspended = false
    #expect(await settled(composed).value == 5)
    #expect(ranIn.current === queue)
  }

  @Test("3.2 A settled upstream is joined: its outcome is used", arguments: Composition.all)
  func upstream_settled_isJoined(composition: Composition) async {
    let succeeded = succeeding(5)
    succeeded.start()
    #expect(await outcomeOfStarting(composition.make(succeeded)).value == 5)
    let cancelled = cancelling()
    cancelled.start()
    #expect(await outcomeOfStarting(composition.make(cancelled)).isCancelled)
  }

  @Test("3.2 A settled upstream that failed: its own error", arguments: Composition.all.filter { !$0.recovers })
  func upstream_failed_isJoined(composition: Composition) async {
    let failed = failing(TestError.first)
    failed.start()
    #expect(await outcomeOfStarting(composition.make(failed)).error as? TestError == .first)
  }

  @Test("3.2 Cancelling what joined an executing upstream does not cancel the upstream", arguments: Composition.all)
  func cancel_ofJoiner_leavesTheUpstream(composition: Composition) async {
    let upstream = HeldOperation<Int>()
    upstream.start()
    let composed = composition.make(upstream)
    await onWorker { composed.start() }
    composed.cancel()
    #expect(!upstream.isCancelled)
    #expect(!upstream.cancelRequested.isOpen)
    upstream.finish(with: 5)
    #expect(await settled(composed).isCancelled)
    #expect(upstream.result == 5)
  }

  @Test(
    "3.4 cancelAllOperations of the queue in which the joiner waits for its turn does not cancel the upstream",
    arguments: Composition.all)
  func cancelAll_whileJoinerWaits_leavesTheUpstream(composition: Composition) async {
    let queue = OperationQueue(limit: 1)
    let upstream = HeldOperation<Int>()
    upstream.start()
    let composed = composition.make(upstream)
    let holder = HeldOperation<Int>()
    // The lane starts the composition, which takes no slot, and then the holder, which takes the
    // only one.
    let root = CompositeOperation(operations: [composed, holder], operationQueue: queue)
    root.failurePolicy = .waitForAll
    await onWorker { root.start() }
    await holder.started.wait()
    queue.cancelAllOperations()
    holder.finish(with: 1)
    // The slot is free for this when the lane has continued with the composition.
    let afterwards = BlockOperation {}
    queue.addOperation(afterwards)
    await finished(afterwards)
    #expect(!upstream.isCancelled)
    upstream.finish(with: 5)
    #expect(await settled(root).isCancelled)
    #expect(upstream.result == 5)
  }

  @Test("3.4 cancelAllOperations does not cancel what others started, though it waits for its turn to be joined")
  func cancelAll_whileOperandWaits_leavesTheOperand() async {
    let queue = OperationQueue(limit: 1)
    let theirs = HeldOperation<Int>()
    theirs.start()
    let holder = HeldOperation<Int>()
    let root = CompositeOperation(operations: [all([holder, theirs])], operationQueue: queue)
    await onWorker { root.start() }
    await holder.started.wait()
    queue.cancelAllOperations()
    #expect(!theirs.isCancelled)
    holder.finish(with: 1)
    #expect(await settled(root).isCancelled)
    theirs.finish(with: 5)
    #expect(theirs.result == 5)
  }

  @Test("3.2 Two that share an upstream: one starts it, the other joins it, both get the value")
  func upstream_shared_runsOnce() async {
    for _ in 0..<100 {
      let runs = Locked(0)
      let upstream = SimpleOperation<Int> { $0.finish(with: runs.increment()) }
      let first = upstream.map { $0 + 10 }
      let second = upstream.map { $0 + 20 }
      async let firstOutcome = outcomeOfStarting(first)
      async let secondOutcome = outcomeOfStarting(second)
      let outcomes = await (firstOutcome, secondOutcome)
      #expect(outcomes.0.value == 11)
      #expect(outcomes.1.value == 21)
      #expect(runs.current == 1)
    }
  }

  @Test("3.2 Two that share an upstream: cancelling the owner that started it cancels it, and so the other")
  func cancel_ofOwner_cancelsTheSharedUpstream() async {
    let upstream = HeldOperation<Int>(settlesWhenCancelled: true)
    let owner = upstream.map { $0 }
    let joiner = upstream.map { $0 }
    await onWorker { owner.start() }
    await upstream.started.wait()
    await onWorker { joiner.start() }
    owner.cancel()
    #expect(await settled(owner).isCancelled)
    #expect(await settled(joiner).isCancelled)
    #expect(upstream.isCancelled)
  }

  @Test("3.2 Two compositions share an upstream: cancelling the second leaves the owner alone")
  func cancel_ofJoiner_leavesTheOwner() async {
    let upstream = HeldOperation<Int>(settlesWhenCancelled: true)
    let owner = upstream.map { $0 }
    let joiner = upstream.map { $0 }
    await onWorker { owner.start() }
    await upstream.started.wait()
    await onWorker { joiner.start() }
    joiner.cancel()
    upstream.finish(with: 5)
    #expect(await settled(owner).value == 5)
    #expect(await settled(joiner).isCancelled)
  }
}

/// One way to compose an operation of `Int` so that its value comes out again.
struct Composition: Sendable, CustomTestStringConvertible {
  let testDescription: String
  var recovers = false
  let make: @Sendable (SimpleOperation<Int>) -> SimpleOperation<Int>

  static let all: [Composition] = [
    Composition(testDescription: "map") { $0.map { $0 } },
    Composition(testDescription: "mapAsync") { $0.mapAsync { $0 } },
    Composition(testDescription: "then") { $0.then { succeeding($0) } },
    Composition(testDescription: "recover", recovers: true) { $0.recover { _ in succeeding(0) } },
    Composition(testDescription: "zip") { zip($0, succeeding("other")).map { $0.0 } },
    Composition(testDescription: "all") { CompositeOperations.all([$0]).map { $0[0] } },
    Composition(testDescription: "map of map") { $0.map { $0 }.map { $0 } },
  ]
}
