import Foundation

/// The outcomes of a tree, predicted before it runs: one for each node that does not depend on
/// timing.
///
/// This checks ``TreeJudge``, which trusts the observed outcomes of children: for nodes with a
/// forecast nothing is trusted.
struct TreeForecast {
  private let plan: TreePlan
  private let index: TreeIndex
  private let model: TreeModel
  private let cancelledBefore: Set<Int>
  private let disturbed: Set<Int>
  private let forecasts: [Verdict?]

  init(_ plan: TreePlan, _ index: TreeIndex) {
    self.plan = plan
    self.index = index
    model = TreeModel(index: index)
    var cancelledBefore: Set<Int> = []
    var disturbed: Set<Int> = []
    for cancel in plan.cancels {
      switch (cancel.moment, cancel.target) {
      case (.beforeStart, .node(let id)): if !index[id].isLate { cancelledBefore.insert(id) }
      case (.beforeStart, .queue): break
      case (_, .node(let id)): disturbed.insert(id)
      case (_, .queue(let queue)):
        disturbed.formUnion(index.nodes.map(\.id).filter { index.isReached($0, by: queue) })
      }
    }
    self.cancelledBefore = cancelledBefore
    self.disturbed = disturbed
    var forecasts = [Verdict?](repeating: nil, count: index.nodes.count)
    // Children have greater numbers than their parents.
    for node in index.nodes.reversed() {
      forecasts[node.id] = TreeForecast.forecast(node, model, cancelledBefore, disturbed, forecasts)
    }
    self.forecasts = forecasts
  }

  /// The outcomes that are certain, by node.
  func certain() -> [Int: Verdict] {
    var certain: [Int: Verdict] = [:]
    collect(0, into: &certain)
    return certain
  }

  private func collect(_ id: Int, into certain: inout [Int: Verdict]) {
    if cancelledBefore.contains(id), index[id].spec.leaf?.kind != .settled {
      cancelAll(id, into: &certain)
      return
    }
    guard !disturbed.contains(id) else { return }
    certain[id] = forecasts[id]
    let children = index[id].children
    if let order = startOrder(id), let end = order.firstIndex(where: { forecasts[$0]?.isSuccess == false }) {
      // One at a time; the first unsuccessful child ends it, and the rest never runs.
      for child in order[...end] where forecasts[child] != nil { collect(child, into: &certain) }
      for child in order[(end + 1)...] where !index[child].isLate { cancelAll(child, into: &certain) }
      return
    }
    let siblingsMatter: Bool =
      switch index[id].spec {
      case .parallel(let parallel): !parallel.waitsForAll || parallel.isMisuse
      case .zip, .all, .firstSuccess, .forEach: true
      case .leaf, .sequential, .map, .then, .recover: false
      }
    let mayBeCancelled = siblingsMatter && children.count > 1 || isMisuse(id)
    for child in children {
      let othersSucceed = children.allSatisfy { $0 == child || forecasts[$0]?.isSuccess == true }
      let isFirstSuccess = if case .firstSuccess = index[id].spec { true } else { false }
      if !mayBeCancelled || (othersSucceed && !isFirstSuccess && !isMisuse(id)) { collect(child, into: &certain) }
    }
  }

  /// The children in the order in which they run, where that is certain up to the first that does
  /// not succeed.
  private func startOrder(_ id: Int) -> [Int]? {
    TreeForecast.startOrder(index[id], cancelledBefore, index, forecasts)
  }

  private static func startOrder(
    _ node: TreeIndex.Node, _ cancelledBefore: Set<Int>, _ index: TreeIndex, _ forecasts: [Verdict?]
  ) -> [Int]? {
    guard node.width == 1 else { return nil }
    var order = node.children
    switch node.spec {
    case .parallel(let parallel):
      let dependent = parallel.children.contains { !$0.after.isEmpty || $0.external != nil }
      if parallel.isMisuse || parallel.waitsForAll || dependent { return nil }
      // A stable order: by priority, then by position.
      order = parallel.children.enumerated()
        .sorted { ($1.element.priority.rawValue, $0.offset) < ($0.element.priority.rawValue, $1.offset) }
        .map { $0.element.spec.id }
    case .all: break
    case .forEach(_, _, let makeFailsAt, _): if makeFailsAt != nil { return nil }
    case .leaf, .sequential, .map, .then, .recover, .zip, .firstSuccess: return nil
    }
    // A child that ended before its turn may be seen early; after an unknown one, nothing is
    // certain.
    let isPlain = order.allSatisfy {
      index[$0].spec.leaf?.kind != .settled && !cancelledBefore.contains($0) && !index.waitsInside($0)
    }
    guard isPlain, let end = order.firstIndex(where: { forecasts[$0]?.isSuccess != true }) else { return nil }
    return forecasts[order[end]] == nil ? nil : order
  }

  /// All nodes below one that was cancelled before the start are cancelled, unless already settled.
  private func cancelAll(_ id: Int, into certain: inout [Int: Verdict]) {
    switch index[id].spec.leaf?.kind {
    case .settled, .executing: return
    default: break
    }
    certain[id] = .cancelled
    for child in index[id].children where !index[child].isLate { cancelAll(child, into: &certain) }
  }

  private func isMisuse(_ id: Int) -> Bool {
    switch index[id].spec {
    case .parallel(let parallel): parallel.isMisuse
    case .forEach(_, _, let makeFailsAt, _): makeFailsAt != nil
    default: false
    }
  }

  private static func forecast(
    _ node: TreeIndex.Node, _ model: TreeModel, _ cancelledBefore: Set<Int>, _ disturbed: Set<Int>,
    _ forecasts: [Verdict?]
  ) -> Verdict? {
    if cancelledBefore.contains(node.id), node.spec.leaf?.kind != .settled { return .cancelled }
    if disturbed.contains(node.id) { return nil }
    let verdicts = node.children.map { forecasts[$0] }
    var makeFails = false
    switch node.spec {
    case .leaf, .map, .then, .recover, .sequential:
      return single(model.outcomes(of: node.id) { forecasts[$0] })
    case .parallel(let parallel):
      if parallel.isMisuse { return nil }
      if parallel.waitsForAll { return single(model.outcomes(of: node.id) { forecasts[$0] }) }
    case .firstSuccess:
      guard !verdicts.contains(nil), !verdicts.contains(.cancelled) else { return nil }
      return single(model.outcomes(of: node.id) { forecasts[$0] })
    case .forEach(_, _, let makeFailsAt, _):
      makeFails = makeFailsAt != nil
    case .zip, .all: break
    }
    if let order = startOrder(node, cancelledBefore, model.index, forecasts) {
      let ran = order.prefix { forecasts[$0]?.isSuccess == true }.count + 1
      let verdicts = order.enumerated().map { rank, child in (child, rank < ran ? forecasts[child]! : .cancelled) }
      let verdict = Dictionary(uniqueKeysWithValues: verdicts)
      return single(model.outcomes(of: node.id) { verdict[$0] })
    }
    // The first unsuccessful child cancels the rest. Only outcomes that do not depend on which one
    // it is are certain.
    guard let known = model.known(verdicts) else { return nil }
    let failures = known.count(where: \.isFailure) + (makeFails ? 1 : 0)
    guard failures == 0 || failures == 1 && !known.contains(.cancelled) else { return nil }
    return single(makeFails ? [.failure(.thrown(by: node.id))] : model.outcomes(of: node.id) { forecasts[$0] })
  }

  private static func single(_ outcomes: Set<Verdict>) -> Verdict? {
    outcomes.count == 1 ? outcomes.first : nil
  }
}

extension TreeSpec.Parallel {
  /// Whether its children break the rules.
  var isMisuse: Bool {
    repeated != nil || children.contains { $0.spec.leaf?.kind == .executing }
  }
}
