import CompositeOperations
import Foundation

/// Compares the outcomes of a tree with the model, and checks the rules for each operation.
///
/// The legal outcomes of a node are those that the sequential model computes from the actual
/// outcomes of its children, and `.cancelled` if it may have been cancelled *before* it settled: by
/// the plan, by its composite after an earlier sibling, or with its composite. Each child is judged
/// in the same way, so the outcome of the root is legal only if a whole history leads to it; the
/// product of all histories is never listed.
final class TreeJudge {
  let seen: TreeObservation
  let model: TreeModel
  private(set) var complaints: [String] = []
  /// How many nodes had one certain outcome before the tree ran.
  private(set) var certainCount = 0

  var index: TreeIndex { seen.index }

  init(_ seen: TreeObservation) {
    self.seen = seen
    model = TreeModel(index: seen.index)
    for node in index.nodes where seen.entries[node.id].isMade { judge(node) }
    for (id, verdict) in TreeForecast(seen.plan, index).certain() where seen.entries[id].isMade {
      certainCount += 1
      require(seen.verdict(id) == verdict, "#\(id) must come to: \(verdict)")
      if verdict == .cancelled, index[id].spec.leaf?.result != .cancelled, index[id].spec.leaf != nil {
        require(seen.entries[id].begun.isEmpty, "#\(id) ran though it was cancelled before its turn")
      }
    }
    for queueCancel in seen.queueCancels { judge(queueCancel) }
    for node in index.nodes where !seen.entries[node.id].isMade {
      require(node.isLate, "#\(node.id) was not made")
      require(seen.entries[node.id].begun.isEmpty, "#\(node.id) ran and was not made")
    }
  }

  private func require(_ condition: Bool, _ complaint: @autoclosure () -> String) {
    if !condition { complaints.append(complaint()) }
  }

  private func judge(_ node: TreeIndex.Node) {
    let id = node.id
    let entry = seen.entries[id]
    guard let verdict = seen.verdict(id), seen.nodes[id].isFinished else {
      complaints.append("#\(id) did not finish")
      return
    }
    if hasCompletion(node) {
      require(entry.settled.count == 1, "#\(id) called its completion \(entry.settled.count) times")
      require(entry.settled.first?.verdict == verdict, "#\(id) told its completion something else")
      require(
        seen.nodes[id].isCancelled == (verdict == .cancelled), "#\(id): isCancelled is \(seen.nodes[id].isCancelled)")
    }
    if let parent = node.parent, node.spec.leaf?.kind != .executing, let end = entry.settled.first?.tick {
      let parentEnd = seen.entries[parent].settled.first?.tick ?? Int.max
      require(end < parentEnd, "#\(id) settled after its composite #\(parent)")
    }
    require(entry.cancelHooks <= 1, "#\(id) called its cancel hook \(entry.cancelHooks) times")
    if let leaf = node.spec.leaf {
      judge(leaf, verdict, entry)
    } else {
      judge(inner: node, verdict, entry)
    }
  }

  private func hasCompletion(_ node: TreeIndex.Node) -> Bool {
    guard let leaf = node.spec.leaf else { return true }
    return !leaf.kind.isPlain && leaf.kind != .conforming && leaf.kind != .asyncConforming
  }

  // MARK: Queues

  /// `cancelAllOperations` cancels the operations that are in the queue, or wait for it, during the
  /// whole call.
  private func judge(_ queueCancel: TreeJournal.QueueCancel) {
    let queue = queueCancel.queue
    for id in seen.nodesThatRun(during: queueCancel) {
      require(seen.nodes[id].isCancelled, "#\(id) ran in queue \(queue) when all was cancelled there, and was not")
    }
    for id in seen.nodesThatWait(during: queueCancel) {
      require(seen.nodes[id].isCancelled, "#\(id) waited for queue \(queue) when all was cancelled there, and was not")
      require(seen.entries[id].begun.isEmpty, "#\(id) ran though queue \(queue) cancelled it before its turn")
    }
    if seen.rootIsInQueue(during: queueCancel) {
      require(seen.nodes[0].isCancelled, "the root was in queue \(queue) when all was cancelled there, and was not")
    }
  }

  // MARK: Leaves

  private func judge(_ leaf: TreeSpec.Leaf, _ verdict: Verdict, _ entry: TreeJournal.Entry) {
    let id = leaf.id
    let parentEnd = index[id].parent.map { seen.settledTick($0) } ?? Int.max
    // A plain operation can be cancelled until it has finished, a little after it noted that it
    // would.
    let end = leaf.kind.isPlain ? parentEnd : entry.settled.first?.tick ?? parentEnd
    let mayBeCancelled = seen.mayHaveBeenCancelled(id, before: end)
    var legal: Set<Verdict> = mayBeCancelled ? [.cancelled] : []
    switch leaf.kind {
    case .settled:
      legal = [leaf.verdict]
    case .bodyless:
      legal.insert(leaf.verdict)
    case .executing:
      legal = [leaf.verdict, .cancelled]
    case .closure, .subclass, .async, .block, .foreign, .conforming, .asyncConforming:
      require(entry.begun.count <= 1, "#\(id) ran \(entry.begun.count) times")
      // A leaf that never ran has no outcome of its own.
      if !entry.begun.isEmpty { legal.insert(leaf.verdict) }
      if entry.begun.isEmpty { require(entry.cancelHooks == 0, "#\(id) called its cancel hook and never ran") }
    }
    require(legal.contains(verdict), "#\(id) came to: \(verdict); legal: \(legal)")
    judgeClaims(leaf, verdict, entry)
    if let parent = index[id].parent, index[parent].spec.parallel?.isMisuse == false, !leaf.kind.isPlain {
      require(seen.slot(of: index[id]) == verdict, "#\(parent) says that #\(id) came to something else")
    }
  }

  /// A call that settles an operation returns true only if it did.
  private func judgeClaims(_ leaf: TreeSpec.Leaf, _ verdict: Verdict, _ entry: TreeJournal.Entry) {
    guard leaf.kind == .closure || leaf.kind == .subclass else { return }
    require(entry.accepted.count <= 1, "#\(leaf.id) accepted \(entry.accepted)")
    require(entry.accepted.allSatisfy { $0 == verdict }, "#\(leaf.id) accepted \(entry.accepted)")
    if verdict != .cancelled { require(!entry.accepted.isEmpty, "#\(leaf.id) settled without being told") }
    if verdict == .cancelled, leaf.result != .cancelled, !entry.begun.isEmpty {
      require(entry.cancelHooks == 1, "#\(leaf.id) was cancelled while it ran and called no cancel hook")
    }
  }

  // MARK: Nodes that contain others

  private func judge(inner node: TreeIndex.Node, _ verdict: Verdict, _ entry: TreeJournal.Entry) {
    let isCancelled = seen.mayHaveBeenCancelled(node.id, before: seen.settledTick(node.id))
    if verdict == .cancelled, isCancelled { return judgeCalls(node, verdict, entry) }
    if node.spec.parallel?.isMisuse == true {
      require(
        verdict.isMisuse || model.outcomes(of: node.id) { seen.verdict($0) }.contains(verdict) && endedEarly(node),
        "#\(node.id) came to: \(verdict); its children break the rules")
    } else {
      let legal = model.outcomes(of: node.id) { seen.verdict($0) }
      let verdicts = node.children.map { seen.verdict($0).map { "\($0)" } ?? "not made" }
      require(legal.contains(verdict), "#\(node.id) came to: \(verdict); legal: \(legal) for children \(verdicts)")
    }
    judgeCalls(node, verdict, entry)
  }

  /// Whether a child that executes elsewhere while its composite starts may have ended before, by a
  /// cancel.
  private func endedEarly(_ node: TreeIndex.Node) -> Bool {
    node.spec.parallel?.repeated == nil
      && node.children.contains { index[$0].spec.leaf?.kind == .executing && !seen.entries[$0].cancelRequests.isEmpty }
  }

  /// Closures are called as often as the model says; only a cancel can make it less.
  private func judgeCalls(_ node: TreeIndex.Node, _ verdict: Verdict, _ entry: TreeJournal.Entry) {
    let expected: Int
    switch node.spec {
    case .map, .then:
      expected = seen.verdict(node.children[0])?.isSuccess == true ? 1 : 0
    case .recover:
      expected = seen.verdict(node.children[0])?.isFailure == true ? 1 : 0
    case .forEach(_, _, let makeFailsAt, let children):
      // All up to the last one, in any order; the failing one leaves a gap.
      let upToLast = (0..<entry.begun.count).filter { $0 != makeFailsAt }
      require(entry.made.sorted() == upToLast, "#\(node.id) made \(entry.made)")
      if verdict == .failure(.thrown(by: node.id)) {
        require(seen.makeFailed(node.id), "#\(node.id) failed before it made the item that fails")
      }
      if verdict.isSuccess { require(entry.begun.count == children.count, "#\(node.id) left items out") }
      return
    case .sequential(let sequence):
      return judgeCalls(of: sequence, verdict, entry)
    case .leaf, .parallel, .zip, .all, .firstSuccess:
      return
    }
    require(entry.begun.count <= expected, "#\(node.id) called its closure \(entry.begun.count) times, not \(expected)")
    if verdict != .cancelled {
      require(
        entry.begun.count == expected, "#\(node.id) called its closure \(entry.begun.count) times, not \(expected)")
    }
  }

  private func judgeCalls(
    of sequence: TreeSpec.Sequential, _ verdict: Verdict, _ entry: TreeJournal.Entry
  ) {
    let (_, asked) = model.sequence(sequence) { position in
      entry.made.contains(position) ? seen.verdict(sequence.steps[position].id) : nil
    }
    require(entry.made == Array(0..<entry.made.count), "#\(sequence.id) made \(entry.made)")
    require(entry.made.count <= asked, "#\(sequence.id) made \(entry.made.count) steps, not \(asked)")
    if verdict != .cancelled {
      require(entry.made.count == asked, "#\(sequence.id) made \(entry.made.count) steps, not \(asked)")
      let slots = seen.nodes[sequence.id].slots.prefix(entry.made.count)
      let verdicts = sequence.steps.prefix(entry.made.count).map { seen.verdict($0.id) }
      require(Array(slots) == verdicts, "#\(sequence.id) says that its steps came to \(slots), not \(verdicts)")
    }
  }
}

extension Verdict {
  /// Whether a composite's failure contains one for misuse.
  var isMisuse: Bool {
    guard case .failure(.composite(let entries)) = self else { return false }
    return entries.contains { $0.fault == .library }
  }
}
