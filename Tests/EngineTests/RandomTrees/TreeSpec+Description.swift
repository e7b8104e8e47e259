import Foundation

extension TreeSpec: CustomStringConvertible {
  /// The tree, one line for each node, children indented.
  var description: String {
    lines().joined(separator: "\n")
  }

  private func lines() -> [String] {
    let (head, children) = parts
    return [head]
      + children.flatMap { label, child in
        var lines = child.lines()
        lines[0] = label + lines[0]
        return lines.map { "  " + $0 }
      }
  }

  private var parts: (head: String, children: [(label: String, spec: TreeSpec)]) {
    func unlabelled(_ specs: [TreeSpec]) -> [(label: String, spec: TreeSpec)] { specs.map { ("", $0) } }
    switch self {
    case .leaf(let leaf):
      return (leaf.description, [])
    case .parallel(let parallel):
      var head = "#\(parallel.id) parallel" + (parallel.usesBuilder ? " (builder)" : "") + parallel.settings.description
      if parallel.waitsForAll { head += " waitForAll" }
      if let repeated = parallel.repeated { head += " repeats child \(repeated)" }
      return (head, parallel.children.map { ($0.label, $0.spec) })
    case .sequential(let sequence):
      let head = "#\(sequence.id) sequence \(sequence.style), then \(sequence.ending)" + sequence.settings.description
      return (head, unlabelled(sequence.steps))
    case .map(let step, let upstream):
      return ("#\(step.id) \(step.isAsync ? "mapAsync" : "map") \(step.effect)", unlabelled([upstream]))
    case .then(let step, let upstream, let next):
      return ("#\(step.id) then \(step.effect)", unlabelled([upstream, next]))
    case .recover(let step, let upstream, let replacement):
      return ("#\(step.id) recover \(step.effect)", unlabelled([upstream, replacement]))
    case .zip(let id, let children):
      return ("#\(id) zip", unlabelled(children))
    case .all(let id, let width, let children):
      return ("#\(id) all" + (width.map { " width \($0)" } ?? ""), unlabelled(children))
    case .firstSuccess(let id, let children):
      return ("#\(id) firstSuccess", unlabelled(children))
    case .forEach(let id, let width, let makeFailsAt, let children):
      let failure = makeFailsAt.map { ", make fails at \($0)" } ?? ""
      return ("#\(id) forEach width \(width)\(failure)", unlabelled(children))
    }
  }
}

extension TreeSpec.Leaf: CustomStringConvertible {
  var description: String {
    "#\(id) \(kind) \(result) delay \(delay)" + (yieldsToCancel ? " yields to cancel" : "")
  }
}

extension TreeSpec.Sequential.Style: CustomStringConvertible {
  var description: String {
    switch self {
    case .scripted(let afterFailure, let continuesAfterCancel):
      "scripted (after a failure: \(afterFailure.rawValue)\(continuesAfterCancel ? ", goes on after a cancel" : ""))"
    case .linear: "linear"
    case .retry: "retry"
    }
  }
}

extension TreeSpec.Settings: CustomStringConvertible {
  var description: String {
    (queue.map { " queue \($0)" } ?? "") + (limit.map { " limit \($0)" } ?? "") + (startsSuspended ? " suspended" : "")
  }
}

extension TreeSpec.Child {
  fileprivate var label: String {
    var label = priority == .normal ? "" : "[priority \(priority.rawValue)] "
    if !after.isEmpty { label += "[after \(after)] " }
    if let external { label += "[after external \(external)] " }
    return label
  }
}

extension TreePlan: CustomStringConvertible {
  /// Everything needed to understand the tree.
  var description: String {
    var lines = ["TREE_SEED=\(seed)", "launch: \(launch), wait: \(wait)"]
    if !queues.isEmpty { lines.append("limits of the queues: \(queues)") }
    if !externals.isEmpty { lines.append("external operations: \(externals.map(\.rawValue))") }
    lines += cancels.map { cancel in
      switch cancel.target {
      case .node(let id): "cancel #\(id) \(cancel.moment)"
      case .queue(let number): "cancel all of queue \(number) \(cancel.moment)"
      }
    }
    return (lines + [root.description]).joined(separator: "\n")
  }
}
