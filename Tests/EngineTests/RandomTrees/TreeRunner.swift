import Foundation
import OperationTimelines
import TestSupport

@testable import CompositeOperations

/// The result of one tree.
struct TreeReport: Sendable {
  let complaints: [String]
  let rows: Set<TableRow>
  let nodeCount: Int
  /// How many nodes had one certain outcome before the tree ran.
  let certainCount: Int
}

/// Builds, runs and judges a tree.
enum TreeRunner {
  static func run(_ plan: TreePlan) async -> TreeReport {
    if !TreeSeed.isGiven { CrashReporter.began(plan.seed) }
    defer { CrashReporter.ended(plan.seed) }
    var queues: [WeakReference<OperationQueue>] = []
    let (report, references) = await run(plan) { queues = $0.queues.map { WeakReference($0) } }
    // Only threads that are about to release the operations still hold them.
    var complaints = report.complaints
    let isReleased: @Sendable () -> Bool = { [queues] in
      references.allSatisfy { $0.reference.object == nil } && queues.allSatisfy { $0.object == nil }
    }
    if await !Patience.reached(isReleased) {
      complaints += references.filter { $0.reference.object != nil }.map { "#\($0.id) was not released" }
      complaints += queues.filter { $0.object != nil }.map { _ in "a queue was not released" }
    }
    return TreeReport(
      complaints: complaints, rows: report.rows, nodeCount: report.nodeCount, certainCount: report.certainCount)
  }

  private static func run(
    _ plan: TreePlan, _ peek: (TreeHarness) -> Void
  ) async -> (TreeReport, [(id: Int, reference: WeakReference<Operation>)]) {
    let harness = TreeHarness(plan)
    let root = harness.makeComposable(plan.root)
    peek(harness)
    let monitor = TreeMonitor()
    (root as? SettlingOperation)?.composition?.addMonitor(monitor, isInherited: true)
    let timeline = TreeTimeline()
    timeline.attach(to: root)
    let token = StallReporter.shared.began { [weak harness] in "\(plan)\n\(harness?.state ?? "all was released")" }
    defer { StallReporter.shared.ended(token) }
    for cancel in plan.cancels {
      switch cancel.moment {
      case .beforeStart:
        // The queues are empty: cancelling all operations of one must cancel none.
        if case .queue(let number) = cancel.target {
          harness.queues[number].cancelAllOperations()
        } else {
          harness.cancel(cancel.target)
        }
      case .meanwhile(let hops): harness.pool.run(afterHops: hops) { harness.cancel(cancel.target) }
      case .afterStart, .inBody, .inCompletion, .inCancelHook: break
      }
    }
    for (number, external) in harness.externals.enumerated() {
      harness.pool.run(afterHops: 1 + number % 7) { external.start() }
    }
    let returned = await launch(root, harness)
    await wait(for: root, plan.wait)
    harness.journal.require(root.isFinished, "the waiters were told before the root was finished")
    if let returned {
      harness.journal.require(returned == Verdict(root.anyOutcome!), "run() returned: \(returned)")
    }
    for external in harness.externals { await finished(external) }
    await harness.pool.drained()
    // A worker that cancels a leaf can be delayed between its decision and the call of the hook,
    // while another thread settles everything up to the root. The judge complains if the hook is
    // never called.
    _ = await Patience.reached { harness.hooksAreCalled }

    let observation = TreeObservation(harness)
    let ran = harness.index.nodes.filter { node in
      node.parent != nil && node.spec.leaf.map { $0.kind != .executing } == true
        && !observation.entries[node.id].begun.isEmpty
    }
    let judge = TreeJudge(observation)
    let report = TreeReport(
      complaints: harness.journal.complaints + judge.complaints + monitor.complaints(ran: ran.map { "#\($0.id)" })
        + timeline.complaints(root: root, ran: ran.map { "#\($0.id)" }, repeated: repeated(in: harness)),
      rows: observation.rows, nodeCount: plan.nodeCount,
      certainCount: judge.certainCount)
    return (report, harness.releaseOperations())
  }

  private static func repeated(in harness: TreeHarness) -> Set<String> {
    Set(
      harness.index.nodes.compactMap { node in
        guard let parallel = node.spec.parallel, let place = parallel.repeated else { return nil }
        return "#\(parallel.children[place].spec.id)"
      })
  }

  /// Starts the root. Returns what `run` returned, if it was that.
  private static func launch<O: ComposableOperation>(_ root: O, _ harness: TreeHarness) async -> Verdict? {
    let cancels: @Sendable () -> Void = {
      for cancel in harness.plan.cancels {
        if case .afterStart = cancel.moment { harness.cancel(cancel.target) }
      }
    }
    switch harness.plan.launch {
    case .start:
      root.start()
      cancels()
    case .startTwice:
      root.start()
      cancels()
      root.start()
    case .run:
      harness.pool.run(afterHops: 1, cancels)
      return await verdict { try await root.run() }
    case .added(let queue):
      harness.queues[queue].addOperation(root)
      cancels()
    case .runOnQueue(let queue):
      harness.pool.run(afterHops: 1, cancels)
      return await verdict { try await harness.queues[queue].run(root) }
    }
    return nil
  }

  private static func verdict<Value: Sendable>(_ body: () async throws -> Value) async -> Verdict {
    do {
      return .success(Payload(erasing: try await body()))
    } catch is CancellationError {
      return .cancelled
    } catch {
      return .failure(Fault(error))
    }
  }

  private static func wait<O: ComposableOperation>(for root: O, _ wait: TreePlan.Wait) async {
    switch wait {
    case .value: _ = await settled(root)
    case .dependent: await finished(root)
    case .blocked: await onThread { root.waitUntilFinished() }
    }
  }
}
