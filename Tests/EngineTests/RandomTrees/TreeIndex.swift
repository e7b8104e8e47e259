import Foundation

/// The nodes of a tree by number, with the properties of their position.
struct TreeIndex: Sendable {
  struct Node: Sendable {
    let id: Int
    let spec: TreeSpec
    let parent: Int?
    /// The numbers of the nodes directly below, in child order.
    let children: [Int]
    /// The queue whose slots its own work takes: that of the next composite above with a queue.
    let queue: Int?
    /// How many of its children may be unfinished at once.
    let width: Int?
    /// Whether its operation is made while the tree runs.
    let isLate: Bool
  }

  let nodes: [Node]
  /// The queue that the root is added to.
  let rootQueue: Int?

  init(_ plan: TreePlan) {
    var collected: [Int: Node] = [:]
    TreeIndex.collect(plan.root, parent: nil, queue: nil, isLate: false, into: &collected)
    precondition(collected.count == plan.nodeCount, "every node has a number of its own")
    nodes = (0..<plan.nodeCount).map { collected[$0]! }
    rootQueue =
      switch plan.launch {
      case .added(let queue), .runOnQueue(let queue): queue
      case .start, .startTwice, .run: nil
      }
  }

  subscript(id: Int) -> Node { nodes[id] }

  /// The node of `child` under which `ancestor` comes: whether `ancestor` is above `child`, or is
  /// it.
  func path(from id: Int) -> [Node] {
    var path = [nodes[id]]
    while let parent = path[path.count - 1].parent { path.append(nodes[parent]) }
    return path
  }

  /// Whether cancelling all operations of a queue may cancel this node's: it can be in the queue
  /// itself, as the root, or run or wait in a lane of its composition there. A `mapAsync` runs an
  /// operation of its own.
  func isReached(_ id: Int, by queue: Int) -> Bool {
    if case .map(let step, _) = nodes[id].spec, step.isAsync, nodes[id].queue == queue { return true }
    if let parent = nodes[id].parent { return nodes[parent].queue == queue }
    return rootQueue == queue
  }

  /// Whether operations inside wait for others: a composition gets its place when one can start.
  func waitsInside(_ id: Int) -> Bool {
    if let parallel = nodes[id].spec.parallel,
      parallel.children.contains(where: { !$0.after.isEmpty || $0.external != nil })
    {
      return true
    }
    return nodes[id].children.contains(where: waitsInside)
  }

  /// Whether the composite offers several leaves to its queue as soon as it starts, which only the
  /// queue holds back.
  func offersAtOnce(_ id: Int) -> Bool {
    guard let parallel = nodes[id].spec.parallel, !parallel.isMisuse, !parallel.settings.startsSuspended else {
      return false
    }
    return parallel.settings.limit == nil && parallel.children.count(where: \.isUnheldLeaf) > 1
  }

  private static func collect(
    _ spec: TreeSpec, parent: Int?, queue inherited: Int?, isLate: Bool, into nodes: inout [Int: Node]
  ) {
    let queue = spec.settings?.queue ?? inherited
    nodes[spec.id] = Node(
      id: spec.id, spec: spec, parent: parent, children: spec.below.map(\.spec.id), queue: queue, width: spec.width,
      isLate: isLate)
    for (child, isChildLate) in spec.below {
      collect(child, parent: spec.id, queue: queue, isLate: isLate || isChildLate, into: &nodes)
    }
  }
}

extension TreeSpec.Child {
  /// Whether it is a leaf that can run as soon as its composite does.
  var isUnheldLeaf: Bool {
    guard let leaf = spec.leaf, leaf.kind != .settled, leaf.kind != .executing else { return false }
    return after.isEmpty && external == nil
  }
}

extension TreeSpec {
  var id: Int {
    switch self {
    case .leaf(let leaf): leaf.id
    case .parallel(let parallel): parallel.id
    case .sequential(let sequence): sequence.id
    case .map(let step, _), .then(let step, _, _), .recover(let step, _, _): step.id
    case .zip(let id, _), .all(let id, _, _), .firstSuccess(let id, _), .forEach(let id, _, _, _): id
    }
  }

  var leaf: Leaf? {
    if case .leaf(let leaf) = self { leaf } else { nil }
  }

  var parallel: Parallel? {
    if case .parallel(let parallel) = self { parallel } else { nil }
  }

  var sequence: Sequential? {
    if case .sequential(let sequence) = self { sequence } else { nil }
  }

  var settings: Settings? {
    parallel?.settings ?? sequence?.settings
  }

  /// The nodes directly below, and whether their operations are made when they are needed.
  fileprivate var below: [(spec: TreeSpec, isLate: Bool)] {
    switch self {
    case .leaf: []
    case .parallel(let parallel): parallel.children.map { ($0.spec, false) }
    case .sequential(let sequence): sequence.steps.map { ($0, true) }
    case .map(_, let upstream): [(upstream, false)]
    case .then(_, let upstream, let next), .recover(_, let upstream, let next): [(upstream, false), (next, true)]
    case .zip(_, let children), .all(_, _, let children), .firstSuccess(_, let children):
      children.map { ($0, false) }
    case .forEach(_, _, _, let children): children.map { ($0, true) }
    }
  }

  var width: Int? {
    switch self {
    case .parallel(let parallel): parallel.settings.limit
    case .all(_, let width, _): width
    case .forEach(_, let width, _, _): width
    case .sequential, .then, .recover, .map: 1
    case .leaf, .zip, .firstSuccess: nil
    }
  }
}
