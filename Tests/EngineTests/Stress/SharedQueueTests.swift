import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Nested composites that share one queue, whose limit is small and whose leaves are asynchronous.
/// They finish with all their results and never exceed the limit: the journal of the random trees
/// checks it when each leaf begins.
///
/// `SHARED_SEED=…` runs the trees of one seed, at each limit.
@Suite("3.4 One queue shared by nested composites", .serialized)
struct SharedQueueTests {
  @Test(arguments: 1...4, [false, true])
  func nestedComposites_onSharedQueue_finishWithinLimit(limit: Int, rootIsInQueue: Bool) async {
    let environment = ProcessInfo.processInfo.environment
    let given = environment["SHARED_SEED"].flatMap { UInt64($0) }
    let first = given ?? .random(in: 0..<1 << 62)
    for offset in 0..<(given == nil ? Scale.count(300, least: 10) : 1) {
      let plan = SharedQueueTrees.plan(seed: first &+ UInt64(offset), limit: limit, rootIsInQueue: rootIsInQueue)
      let report = await TreeRunner.run(plan)
      let isCertain = report.certainCount == report.nodeCount
      if !report.complaints.isEmpty || !isCertain {
        Issue.record("SHARED_SEED=\(plan.seed)\n\(report.complaints.joined(separator: "\n"))\n\(plan)")
      }
    }
  }
}

/// Trees of which every node succeeds, most of them on one queue.
private struct SharedQueueTrees {
  private var random: SeededRandomNumberGenerator
  private var nextID = 0

  static func plan(seed: UInt64, limit: Int, rootIsInQueue: Bool) -> TreePlan {
    var trees = SharedQueueTrees(random: SeededRandomNumberGenerator(seed: seed))
    let root = trees.composite(depth: trees.random.number(2...5))
    return TreePlan(
      seed: seed, root: root, nodeCount: trees.nextID, queues: [limit], externals: [], cancels: [],
      launch: rootIsInQueue ? (trees.random.chance(70) ? .added(0) : .runOnQueue(0)) : .start,
      wait: trees.random.pick(TreePlan.Wait.allCases))
  }

  private mutating func newID() -> Int {
    defer { nextID += 1 }
    return nextID
  }

  private mutating func node(depth: Int) -> TreeSpec {
    if depth <= 0 || random.chance(30) { return .leaf(leaf()) }
    guard random.chance(20) else { return composite(depth: depth) }
    let step = TreeSpec.Step(id: newID(), isAsync: random.chance(40))
    return .map(step, of: composite(depth: depth - 1))
  }

  private mutating func leaf() -> TreeSpec.Leaf {
    let kind: TreeSpec.Leaf.Kind = random.pick(weighted: [
      4: .closure, 2: .subclass, 2: .async, 2: .foreign, 1: .block, 1: .asyncConforming,
    ])
    var leaf = TreeSpec.Leaf(id: newID(), kind: kind)
    if kind != .block { leaf.delay = random.pick(weighted: [1: .none, 3: .hops(random.number(1...5)), 2: .drawn]) }
    return leaf
  }

  private mutating func composite(depth: Int) -> TreeSpec {
    let id = newID()
    let settings = TreeSpec.Settings(queue: random.chance(60) ? 0 : nil)
    let count = random.number(1...4)
    if random.chance(60) {
      var parallel = TreeSpec.Parallel(id: id, children: [], settings: settings)
      for _ in 0..<count { parallel.children.append(TreeSpec.Child(spec: node(depth: depth - 1))) }
      if random.chance(30) { parallel.settings.limit = random.number(1...3) }
      return .parallel(parallel)
    }
    var steps: [TreeSpec] = []
    for _ in 0..<count { steps.append(node(depth: depth - 1)) }
    return .sequential(TreeSpec.Sequential(id: id, style: .linear, steps: steps, settings: settings))
  }
}
