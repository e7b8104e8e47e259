import Foundation
import TestSupport

extension TreeGenerator {
  /// A node that contains others.
  mutating func inner(depth: Int, place: Place) -> TreeSpec {
    enum Form { case parallel, sequential, map, then, recover, zip, all, firstSuccess, forEach }
    let form: Form =
      switch place {
      case .child, .composable:
        random.pick(weighted: [
          12: .parallel, 8: .sequential, 2: .map, 3: .then, 2: .recover, 2: .zip, 2: .all, 2: .firstSuccess,
          2: .forEach,
        ])
      case .payload:
        random.pick(weighted: [3: .map, 2: .then, 2: .recover, 2: .firstSuccess])
      }
    let id = newID()
    inner.append(id)
    switch form {
    case .parallel: return .parallel(parallel(id: id, depth: depth - 1))
    case .sequential: return .sequential(sequential(id: id, depth: depth - 1))
    case .map:
      return .map(step(id: id, mayBeAsync: true), of: node(depth: depth - 1, place: .composable))
    case .then:
      let upstream = node(depth: depth - 1, place: .composable)
      return .then(step(id: id), of: upstream, next: next(depth: depth - 1, place: place))
    case .recover:
      let upstream = node(depth: depth - 1, place: .payload)
      return .recover(step(id: id), of: upstream, with: node(depth: depth - 1, place: .payload))
    case .zip:
      return .zip(id, nodes(random.number(2...3), depth: depth - 1, place: .composable))
    case .all:
      let width = random.chance(40) ? random.number(1...4) : nil
      return .all(id, width: width, nodes(childCount(), depth: depth - 1, place: .payload))
    case .firstSuccess:
      return .firstSuccess(id, nodes(childCount(), depth: depth - 1, place: .payload))
    case .forEach:
      let children = nodes(childCount(), depth: depth - 1, place: .payload)
      let failure = random.chance(10) ? children.indices.randomElement(using: &random) : nil
      bodies.append(id)
      return .forEach(id, width: random.number(1...4), makeFailsAt: failure, children)
    }
  }

  private mutating func nodes(_ count: Int, depth: Int, place: Place) -> [TreeSpec] {
    var nodes: [TreeSpec] = []
    for _ in 0..<count { nodes.append(node(depth: depth, place: place)) }
    return nodes
  }

  private mutating func step(id: Int, mayBeAsync: Bool = false) -> TreeSpec.Step {
    bodies.append(id)
    let effect: TreeSpec.Step.Effect = random.pick(weighted: [20: .value, 2: .throwError, 1: .throwCancellation])
    return TreeSpec.Step(id: id, effect: effect, isAsync: mayBeAsync && random.chance(40))
  }

  /// The second operation of a `then`: a payload if one is required, else also a composite or a
  /// conforming operation.
  private mutating func next(depth: Int, place: Place) -> TreeSpec {
    switch place {
    case .payload:
      return node(depth: depth, place: .payload)
    case .child, .composable:
      guard depth > 0, random.chance(50) else { return node(depth: depth, place: .payload) }
      let id = newID()
      inner.append(id)
      return random.chance(50)
        ? .parallel(parallel(id: id, depth: depth - 1)) : .sequential(sequential(id: id, depth: depth - 1))
    }
  }

  private mutating func settings() -> TreeSpec.Settings {
    var settings = TreeSpec.Settings()
    if random.chance(55) { settings.queue = queues.indices.randomElement(using: &random) }
    settings.startsSuspended = random.chance(5)
    return settings
  }

  private mutating func parallel(id: Int, depth: Int) -> TreeSpec.Parallel {
    var parallel = TreeSpec.Parallel(id: id, children: [], settings: settings())
    if random.chance(35) { parallel.settings.limit = random.pick(weighted: [3: 1, 2: 2, 1: 3]) }
    parallel.waitsForAll = random.chance(35)
    for _ in 0..<childCount() {
      parallel.children.append(TreeSpec.Child(spec: node(depth: depth, place: .child)))
    }
    if random.chance(30) { shufflePriorities(&parallel) }
    if random.chance(30) { addDependencies(&parallel) }
    if random.chance(6) { misuse(&parallel) }
    parallel.usesBuilder = parallel.settings.queue == nil && parallel.repeated == nil && random.chance(20)
    return parallel
  }

  private mutating func shufflePriorities(_ parallel: inout TreeSpec.Parallel) {
    for position in parallel.children.indices {
      parallel.children[position].priority = random.pick(weighted: [2: .low, 4: .normal, 2: .high, 1: .veryHigh])
    }
  }

  /// Mostly leaves that wait for one slot of a queue.
  mutating func crowd() -> TreeSpec.Parallel {
    let id = newID()
    inner.append(id)
    var parallel = TreeSpec.Parallel(id: id, children: [], settings: TreeSpec.Settings(queue: 0))
    parallel.waitsForAll = random.chance(35)
    for _ in 0..<random.number(3...8) {
      parallel.children.append(TreeSpec.Child(spec: node(depth: random.chance(20) ? 1 : 0, place: .child)))
    }
    if random.chance(30) { shufflePriorities(&parallel) }
    return parallel
  }

  /// Dependencies follow one random order, so that they are never circular. They may point
  /// forwards.
  private mutating func addDependencies(_ parallel: inout TreeSpec.Parallel) {
    let order = parallel.children.indices.shuffled(using: &random)
    for (rank, position) in order.enumerated() {
      if rank > 0, random.chance(40) { parallel.children[position].after.append(order[random.number(0...rank - 1)]) }
      if random.chance(15) {
        parallel.children[position].external = externals.count
        externals.append(random.pick(TreePlan.External.allCases))
      }
    }
  }

  private mutating func misuse(_ parallel: inout TreeSpec.Parallel) {
    if let repeated = parallel.children.indices.randomElement(using: &random), random.chance(50) {
      parallel.repeated = repeated
    } else {
      let position = random.number(0...parallel.children.count)
      parallel.children.insert(TreeSpec.Child(spec: .leaf(leaf(.executing))), at: position)
      // The positions behind it moved.
      for child in parallel.children.indices {
        parallel.children[child].after = parallel.children[child].after.map { $0 < position ? $0 : $0 + 1 }
      }
    }
  }

  private mutating func sequential(id: Int, depth: Int) -> TreeSpec.Sequential {
    bodies.append(id)
    let style: TreeSpec.Sequential.Style = random.pick(weighted: [
      2: .scripted(afterFailure: .end, continuesAfterCancel: random.chance(30)),
      3: .scripted(afterFailure: .goOn, continuesAfterCancel: random.chance(30)),
      1: .scripted(afterFailure: .throwError, continuesAfterCancel: false),
      2: .linear, 3: .retry,
    ])
    var sequence = TreeSpec.Sequential(id: id, style: style, steps: [], settings: settings())
    sequence.ending = random.pick(weighted: [14: .end, 2: .throwError, 1: .throwCancellation])
    if random.chance(16) { sequence.ending = random.chance(50) ? .returnFinished : .returnExecuting }
    var count = random.chance(8) ? 0 : childCount()
    if case .retry = style { count = max(count, 1) }
    for _ in 0..<count { sequence.steps.append(stepNode(depth: depth)) }
    return sequence
  }

  /// A step of a sequence. An operation that finished before would be misuse there: an `ending` has
  /// that.
  private mutating func stepNode(depth: Int) -> TreeSpec {
    let spec = node(depth: depth, place: .child)
    guard case .leaf(var leaf) = spec, leaf.kind == .settled else { return spec }
    leaf.kind = .closure
    return .leaf(leaf)
  }
}
