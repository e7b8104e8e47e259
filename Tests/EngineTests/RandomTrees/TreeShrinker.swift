import Foundation

/// Makes a failing tree smaller as long as it still fails: `TREE_SEED=… TREE_SHRINK=1` prints the
/// result.
enum TreeShrinker {
  /// - Parameter fails: whether the plan still fails; run it often enough to be sure.
  static func shrink(_ plan: TreePlan, _ fails: (TreePlan) async -> Bool) async -> TreePlan {
    var smallest = plan
    var candidates = variants(of: smallest)[...]
    while let candidate = candidates.popFirst() {
      guard await fails(candidate) else { continue }
      smallest = candidate
      candidates = variants(of: smallest)[...]
    }
    return smallest
  }

  /// The plan with one thing less, the greatest things first.
  private static func variants(of plan: TreePlan) -> [TreePlan] {
    var variants = plan.root.smaller.filter { !$0.isPlain }.map { plan.with(root: $0) }
    for index in plan.cancels.indices {
      var variant = plan
      variant.cancels.remove(at: index)
      variants.append(variant)
    }
    var variant = plan
    variant.launch = .start
    variant.wait = .value
    if "\(variant)" != "\(plan)" { variants.append(variant) }
    return variants.filter { $0.root.leaf == nil }
  }
}

extension TreePlan {
  /// The plan with another root: its nodes are renumbered, and references to removed nodes are
  /// dropped.
  fileprivate func with(root: TreeSpec) -> TreePlan {
    var numbers: [Int: Int] = [:]
    var plan = self
    plan.root = root.renumbered(&numbers)
    plan.nodeCount = numbers.count
    plan.cancels = cancels.compactMap { cancel in
      let target: Target? =
        switch cancel.target {
        case .node(let id): numbers[id].map { .node($0) }
        case .queue: cancel.target
        }
      let moment: Moment? =
        switch cancel.moment {
        case .beforeStart, .afterStart, .meanwhile: cancel.moment
        case .inBody(let id): numbers[id].map { .inBody(of: $0) }
        case .inCompletion(let id): numbers[id].map { .inCompletion(of: $0) }
        case .inCancelHook(let id): numbers[id].map { .inCancelHook(of: $0) }
        }
      guard let target, let moment else { return nil }
      return Cancel(target: target, moment: moment)
    }
    return plan
  }
}

extension TreeSpec {
  fileprivate var isPlain: Bool { leaf?.kind.isPlain == true }

  /// The node with one thing less.
  fileprivate var smaller: [TreeSpec] {
    switch self {
    case .leaf(let leaf):
      return leaf.smaller.map { .leaf($0) }
    case .parallel(let parallel):
      return parallel.smaller.map { .parallel($0) }
    case .sequential(let sequence):
      var variants: [Sequential] = []
      for index in sequence.steps.indices {
        var variant = sequence
        variant.steps.remove(at: index)
        if case .retry = sequence.style, variant.steps.isEmpty { continue }
        variants.append(variant)
      }
      for index in sequence.steps.indices {
        for step in sequence.steps[index].smaller + [.leaf(Leaf(id: sequence.steps[index].id, kind: .closure))] {
          var variant = sequence
          variant.steps[index] = step
          variants.append(variant)
        }
      }
      variants += sequence.settings.smaller.map { settings in
        var variant = sequence
        variant.settings = settings
        return variant
      }
      return variants.filter { "\($0)" != "\(sequence)" }.map { .sequential($0) }
    case .map(let step, let upstream):
      return [upstream] + upstream.smaller.map { .map(step, of: $0) }
    case .then(let step, let upstream, let next):
      return [upstream, next] + upstream.smaller.map { .then(step, of: $0, next: next) }
        + next.smaller.filter { $0.isLike(next) }.map { .then(step, of: upstream, next: $0) }
    case .recover(let step, let upstream, let next):
      return [upstream, next]
        + upstream.smaller.filter { $0.isLike(upstream) }.map { .recover(step, of: $0, with: next) }
        + next.smaller.filter { $0.isLike(next) }.map { .recover(step, of: upstream, with: $0) }
    case .zip, .all, .firstSuccess, .forEach:
      return smallerGathering
    }
  }

  private var smallerGathering: [TreeSpec] {
    func variants(_ children: [TreeSpec], least: Int = 0, _ make: ([TreeSpec]) -> TreeSpec) -> [TreeSpec] {
      var variants = children
      for index in children.indices where children.count > least {
        var fewer = children
        fewer.remove(at: index)
        variants.append(make(fewer))
      }
      for index in children.indices {
        for child in children[index].smaller where child.isLike(children[index]) {
          var smaller = children
          smaller[index] = child
          variants.append(make(smaller))
        }
      }
      return variants
    }
    switch self {
    case .zip(let id, let children): return variants(children, least: 2) { .zip(id, $0) }
    case .all(let id, let width, let children): return variants(children) { .all(id, width: width, $0) }
    case .firstSuccess(let id, let children): return variants(children) { .firstSuccess(id, $0) }
    case .forEach(let id, let width, _, let children):
      return variants(children) { .forEach(id, width: width, makeFailsAt: nil, $0) }
    case .leaf, .parallel, .sequential, .map, .then, .recover: return []
    }
  }

  /// Whether it can replace the other: the types of the typed compositions depend on it.
  private func isLike(_ other: TreeSpec) -> Bool {
    switch (self, other) {
    case (.leaf(let leaf), _): !leaf.kind.isPlain && leaf.kind != .conforming && leaf.kind != .asyncConforming
    case (.parallel, .parallel), (.sequential, .sequential), (.map, .map), (.then, .then), (.recover, .recover),
      (.firstSuccess, .firstSuccess):
      true
    default: false
    }
  }
}

extension TreeSpec.Leaf {
  fileprivate var smaller: [Self] {
    var variants: [Self] = []
    if case .none = delay {} else { variants.append(Self(id: id, kind: kind, result: result)) }
    if kind != .closure, kind != .executing { variants.append(Self(id: id, kind: .closure, result: result)) }
    return variants
  }
}

extension TreeSpec.Settings {
  fileprivate var smaller: [Self] {
    var variants: [Self] = []
    if queue != nil { variants.append(Self(queue: nil, limit: limit, startsSuspended: startsSuspended)) }
    if limit != nil { variants.append(Self(queue: queue, limit: nil, startsSuspended: startsSuspended)) }
    if startsSuspended { variants.append(Self(queue: queue, limit: limit, startsSuspended: false)) }
    return variants
  }
}

extension TreeSpec.Parallel {
  fileprivate var smaller: [Self] {
    var variants: [Self] = []
    for index in children.indices {
      var variant = self
      variant.children.remove(at: index)
      if variant.repeated == index { variant.repeated = nil }
      if let repeated = variant.repeated, repeated > index { variant.repeated = repeated - 1 }
      for child in variant.children.indices {
        variant.children[child].after = variant.children[child].after.filter { $0 != index }.map {
          $0 > index ? $0 - 1 : $0
        }
      }
      variants.append(variant)
    }
    for index in children.indices {
      var specs = children[index].spec.smaller
      if children[index].spec.leaf == nil {
        specs.insert(.leaf(TreeSpec.Leaf(id: children[index].spec.id, kind: .closure)), at: 0)
      }
      for spec in specs {
        var variant = self
        variant.children[index].spec = spec
        variants.append(variant)
      }
      var variant = self
      variant.children[index] = TreeSpec.Child(spec: children[index].spec)
      if children[index].priority != .normal || !children[index].after.isEmpty || children[index].external != nil {
        variants.append(variant)
      }
    }
    variants += settings.smaller.map { settings in
      var variant = self
      variant.settings = settings
      return variant
    }
    if waitsForAll {
      var variant = self
      variant.waitsForAll = false
      variants.append(variant)
    }
    if repeated != nil {
      var variant = self
      variant.repeated = nil
      variants.append(variant)
    }
    return variants
  }
}
