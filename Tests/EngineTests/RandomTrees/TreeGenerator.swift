import Foundation
import TestSupport

/// Makes the tree of a seed. The same seed always makes the same tree.
struct TreeGenerator {
  /// The requirement of a node's place.
  enum Place {
    /// A child of a composite: anything.
    case child
    /// An operation with an outcome.
    case composable
    /// A `SimpleOperation<Payload>`.
    case payload
  }

  var random: SeededRandomNumberGenerator
  /// The limits of the queues.
  let queues: [Int]
  var externals: [TreePlan.External] = []
  /// The nodes in which test code runs.
  var bodies: [Int] = []
  /// The leaves that run test code and can be cancelled.
  var leaves: [Int] = []
  /// The nodes that contain others.
  var inner: [Int] = []
  private var nextID = 0
  /// About how many more nodes there may be.
  private var budget: Int

  /// Whether many leaves of the root wait for one slot of a queue.
  private let crowds: Bool

  private init(seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed)
    budget = random.pick(weighted: [2: 6, 5: 15, 4: 30, 1: 60])
    crowds = random.chance(11)
    let unlimited = OperationQueue.defaultMaxConcurrentOperationCount
    queues =
      crowds
      ? [1]
      : (0..<random.pick(weighted: [4: 0, 4: 1, 2: 2])).map { _ in
        random.pick(weighted: [4: 1, 3: 2, 2: 3, 1: 4, 2: unlimited])
      }
    self.random = random
  }

  static func plan(seed: UInt64) -> TreePlan {
    var generator = TreeGenerator(seed: seed)
    return generator.plan(seed: seed)
  }

  private mutating func plan(seed: UInt64) -> TreePlan {
    let root = crowds ? .parallel(crowd()) : inner(depth: random.number(1...6), place: .composable)
    var plan = TreePlan(
      seed: seed, root: root, nodeCount: nextID, queues: queues, externals: externals, cancels: [], launch: launch(),
      wait: random.pick(TreePlan.Wait.allCases))
    if random.chance(crowds ? 80 : 45) {
      let index = TreeIndex(plan)
      plan.cancels = (0..<random.pick(weighted: [6: 1, 3: 2, 1: 4])).map { _ in cancel(index) }
    }
    return plan
  }

  private mutating func launch() -> TreePlan.Launch {
    if let queue = queues.indices.randomElement(using: &random), random.chance(crowds ? 10 : 50) {
      return random.chance(70) ? .added(queue) : .runOnQueue(queue)
    }
    return random.pick(weighted: [6: .start, 1: .startTwice, 3: .run])
  }

  private mutating func cancel(_ index: TreeIndex) -> TreePlan.Cancel {
    if !queues.isEmpty, random.chance(60) { return queueCancel(index) }
    let target = random.pick(weighted: [4: inner[0], 4: random.pick(inner), 4: random.pick(leaves + inner)])
    return TreePlan.Cancel(target: .node(target), moment: moment())
  }

  /// Mostly while a leaf runs in the queue.
  private mutating func queueCancel(_ index: TreeIndex) -> TreePlan.Cancel {
    let inQueues = bodies.filter { index[$0].queue != nil && index[$0].spec.leaf?.yieldsToCancel == false }
    guard let leaf = inQueues.randomElement(using: &random), random.chance(85) else {
      return TreePlan.Cancel(target: .queue(random.pick(Array(queues.indices))), moment: moment())
    }
    return TreePlan.Cancel(target: .queue(index[leaf].queue!), moment: .inBody(of: leaf))
  }

  private mutating func moment() -> TreePlan.Moment {
    let body = random.pick(bodies + inner)
    let leaf = random.pick(leaves + inner)
    return random.pick(weighted: [
      3: .beforeStart, 2: .afterStart, 6: .meanwhile(hops: random.number(0...12)), 6: .inBody(of: body),
      3: .inCompletion(of: leaf), 1: .inCancelHook(of: leaf),
    ])
  }

  /// The number of the next node.
  mutating func newID() -> Int {
    defer { nextID += 1 }
    budget -= 1
    return nextID
  }

  /// A node for `place`; `depth` levels may stand below it.
  mutating func node(depth: Int, place: Place) -> TreeSpec {
    depth <= 0 || budget <= 0 || random.chance(25) ? .leaf(leaf(place: place)) : inner(depth: depth, place: place)
  }

  /// How many children the next node gets.
  mutating func childCount() -> Int {
    max(0, min(random.pick(weighted: [1: 0, 3: 1, 6: 2, 6: 3, 3: 4, 1: 6, 1: 9]), max(budget, 1)))
  }

  mutating func leaf(place: Place, mayBeSettled: Bool = true) -> TreeSpec.Leaf {
    var kind: TreeSpec.Leaf.Kind = random.pick(weighted: [
      8: .closure, 3: .subclass, 3: .async, 3: .block, 3: .foreign, 2: .conforming, 2: .asyncConforming, 2: .settled,
    ])
    if kind == .closure, random.chance(2) { kind = .bodyless }
    if kind == .settled, !mayBeSettled { kind = .closure }
    switch place {
    case .child: break
    case .composable: if kind.isPlain { kind = .closure }
    case .payload: if kind.isPlain || kind == .conforming || kind == .asyncConforming { kind = .subclass }
    }
    return leaf(kind)
  }

  mutating func leaf(_ kind: TreeSpec.Leaf.Kind) -> TreeSpec.Leaf {
    var leaf = TreeSpec.Leaf(id: newID(), kind: kind)
    leaf.result = kind.isPlain ? .value : random.pick(weighted: [26: .value, 5: .error, 2: .cancelled])
    leaf.delay = random.pick(weighted: [3: .none, 3: .hops(random.number(1...6)), 2: .drawn])
    leaf.yieldsToCancel = random.chance(40)
    if kind == .block || kind == .conforming { leaf.delay = .none }
    // It is held until its composite settles, unless that cancels it because it was itself
    // cancelled unstarted.
    if kind == .executing { leaf.yieldsToCancel = true }
    if kind != .settled && kind != .bodyless && kind != .executing { bodies.append(leaf.id) }
    if kind != .settled { leaves.append(leaf.id) }
    return leaf
  }
}
