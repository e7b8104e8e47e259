import CompositeOperations
import Foundation

/// The rows of the tables of parallel and sequential composites, some in parts. The run counts how
/// often it met each.
enum TableRow: String, CaseIterable, Sendable {
  case parallelAllSucceed = "parallel: all succeed"
  case parallelEmpty = "parallel: no children"
  case parallelFailureCancelsRest = "parallel: one fails, .cancelRemaining"
  case parallelFailureWaitsForAll = "parallel: one fails, .waitForAll"
  case parallelChildCancelled = "parallel: a child is cancelled from outside, none failed"
  case parallelCancelled = "parallel: composite cancelled"
  case parallelCancelledWhileRunning = "parallel: composite cancelled while a child runs"
  case parallelCancelWins = "parallel: composite cancelled, wins over failures"
  case parallelFailureAndChildCancelled = "parallel: a failure and an outside cancel"
  case parallelChildCancelledWaitsForAll = "parallel: an outside cancel under .waitForAll, the rest runs"
  case parallelPlainSuccess = "parallel: plain child succeeds"
  case parallelPlainCancelled = "parallel: plain child cancelled"
  case parallelDependency = "parallel: child has unmet dependencies"
  case parallelRepeated = "parallel: same child twice"
  case parallelExecuting = "parallel: child already executing"
  case parallelFinished = "parallel: child already finished"
  case sequentialEmpty = "sequential: nil at once"
  case sequentialSuccess = "sequential: nil after an operation that succeeded"
  case sequentialFailure = "sequential: nil after one that failed"
  case sequentialStepCancelled = "sequential: nil after one that was cancelled from outside"
  case sequentialThrows = "sequential: the delegate throws"
  case sequentialCancelled = "sequential: composite cancelled"
  case sequentialFinished = "sequential: the delegate returns a finished operation"
  case sequentialExecuting = "sequential: the delegate returns an executing operation"
  case queueCancelsRunning = "queue: cancelAllOperations while a leaf runs in it"
  case queueCancelsWaiting = "queue: cancelAllOperations while a leaf waits for it"
  case queueCancelsRoot = "queue: cancelAllOperations while the root is in it"
}

/// Counts rows.
struct TreeCoverage: Sendable {
  private(set) var counts: [TableRow: Int] = [:]

  mutating func add(_ rows: Set<TableRow>) {
    for row in rows { counts[row, default: 0] += 1 }
  }

  func rows(metLessThan times: Int) -> [String] {
    TableRow.allCases.filter { counts[$0, default: 0] < times }.map { "\($0.rawValue): \(counts[$0, default: 0])" }
  }
}

extension TreeObservation {
  /// The rows that the composites of the tree met, by what happened, not by the plan.
  var rows: Set<TableRow> {
    var rows: Set<TableRow> = []
    for queueCancel in queueCancels {
      if !nodesThatRun(during: queueCancel).isEmpty { rows.insert(.queueCancelsRunning) }
      if !nodesThatWait(during: queueCancel).isEmpty { rows.insert(.queueCancelsWaiting) }
      if rootIsInQueue(during: queueCancel) { rows.insert(.queueCancelsRoot) }
    }
    for node in index.nodes {
      guard let verdict = verdict(node.id) else { continue }
      // After a cancel of all operations of a queue, it is unknown what cancelled a composite in
      // its lanes.
      if node.parent != nil, wasReachedByQueueCancel(node.id, before: settledTick(node.id)) { continue }
      if let parallel = node.spec.parallel { collect(parallel, node, verdict, into: &rows) }
      if let sequence = node.spec.sequence { collect(sequence, node, verdict, into: &rows) }
    }
    return rows
  }

  private func collect(
    _ parallel: TreeSpec.Parallel, _ node: TreeIndex.Node, _ verdict: Verdict, into rows: inout Set<TableRow>
  ) {
    let children = node.children.map { (index[$0], self.verdict($0), entries[$0]) }
    let cancelled = children.filter { $0.1 == .cancelled }
    let failed = children.filter { $0.1?.isFailure == true }
    if parallel.isMisuse {
      if verdict.isMisuse { rows.insert(parallel.repeated == nil ? .parallelExecuting : .parallelRepeated) }
      return
    }
    if wasCancelled(node.id) {
      rows.insert(.parallelCancelled)
      if cancelled.contains(where: { !$0.2.begun.isEmpty }) { rows.insert(.parallelCancelledWhileRunning) }
      if !failed.isEmpty { rows.insert(.parallelCancelWins) }
      return
    }
    if verdict.isSuccess { rows.insert(children.isEmpty ? .parallelEmpty : .parallelAllSucceed) }
    let isAlone = children.count < 2
    if verdict.isFailure, !isAlone {
      if !parallel.waitsForAll, !cancelled.isEmpty { rows.insert(.parallelFailureCancelsRest) }
      if parallel.waitsForAll, cancelled.isEmpty { rows.insert(.parallelFailureWaitsForAll) }
      if cancelled.contains(where: { isOutside($0.0) }) { rows.insert(.parallelFailureAndChildCancelled) }
    }
    if verdict == .cancelled, !isAlone {
      let othersRan = children.count(where: { $0.1?.isSuccess == true }) == children.count - cancelled.count
      rows.insert(parallel.waitsForAll ? .parallelChildCancelledWaitsForAll : .parallelChildCancelled)
      if !othersRan { rows.remove(.parallelChildCancelledWaitsForAll) }
    }
    for (position, (child, verdict, entry)) in children.enumerated() {
      if child.spec.leaf?.kind.isPlain == true {
        rows.insert(verdict == .cancelled ? .parallelPlainCancelled : .parallelPlainSuccess)
      }
      if child.spec.leaf?.kind == .settled { rows.insert(.parallelFinished) }
      let spec = parallel.children[position]
      if !entry.begun.isEmpty, !spec.after.isEmpty || spec.external != nil { rows.insert(.parallelDependency) }
    }
  }

  /// Whether the child's cancel came from outside the composite.
  private func isOutside(_ child: TreeIndex.Node) -> Bool {
    wasAskedToCancel(child.id, before: settledTick(child.id)) || child.spec.leaf?.result == .cancelled
  }

  private func collect(
    _ sequence: TreeSpec.Sequential, _ node: TreeIndex.Node, _ verdict: Verdict, into rows: inout Set<TableRow>
  ) {
    let last = entries[node.id].made.last.map { self.verdict(sequence.steps[$0].id) } ?? nil
    if wasCancelled(node.id) {
      if last == .cancelled { rows.insert(.sequentialCancelled) }
    } else if verdict.isMisuse {
      if case .returnExecuting = sequence.ending { rows.insert(.sequentialExecuting) }
      if case .returnFinished = sequence.ending { rows.insert(.sequentialFinished) }
    } else if case .failure(.composite(let entries)) = verdict {
      rows.insert(entries.last?.fault == .thrown(by: node.id) ? .sequentialThrows : .sequentialFailure)
    } else if verdict == .cancelled {
      if last == .cancelled { rows.insert(.sequentialStepCancelled) }
    } else if verdict.isSuccess {
      rows.insert(last == nil ? .sequentialEmpty : .sequentialSuccess)
    }
  }
}
