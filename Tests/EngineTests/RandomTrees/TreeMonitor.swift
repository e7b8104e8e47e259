import Foundation
import TestSupport

@testable import CompositeOperations

/// Monitors all compositions of one tree, as recorders and progress trees do, and complains unless
/// the calls for each child come in order and once.
final class TreeMonitor: SourceMonitor {
  private struct Child: Hashable {
    let source: ObjectIdentifier
    let tag: Int
  }

  private enum Stage: Comparable {
    case added, started, settled
  }

  private struct State {
    var stages: [Child: Stage] = [:]
    var started: Set<String> = []
    var complaints: [String] = []
    /// Retained, so that no identity is reused.
    var sources: [ObjectIdentifier: WorkSource] = [:]
    var isOver = false
  }

  private let state = Locked(State())

  func source(_ source: WorkSource, didAdd child: Operation, tag: Int) {
    advance(source, child, tag, to: .added)
  }

  func source(_ source: WorkSource, willStart child: Operation, tag: Int) {
    advance(source, child, tag, to: .started)
  }

  func source(_ source: WorkSource, didSettle child: Operation, tag: Int) {
    advance(source, child, tag, to: .settled)
  }

  private func advance(_ source: WorkSource, _ child: Operation, _ tag: Int, to stage: Stage) {
    let name = child.name ?? ""
    state.withLock { state in
      if state.isOver { return }
      let key = Child(source: ObjectIdentifier(source), tag: tag)
      let before = state.stages.updateValue(stage, forKey: key)
      let isRight =
        switch stage {
        case .added: before == nil
        case .started: before == .added
        case .settled: before == .added || before == .started
        }
      if !isRight { state.complaints.append("the monitor was told that \(name) was \(stage) after \(before as Any)") }
      if stage == .started { state.started.insert(name) }
      state.sources[key.source] = source
    }
  }

  /// Returns what was wrong, once the tree has ended, and releases everything.
  func complaints(ran: [String]) -> [String] {
    let seen = state.withLock { state in
      defer { state = State(isOver: true) }
      return state
    }
    let unsettled = seen.stages.values.count { $0 != .settled }
    var complaints = seen.complaints
    if unsettled > 0 { complaints.append("the monitor was not told of \(unsettled) settlements") }
    for name in ran where !seen.started.contains(name) {
      complaints.append("the monitor was not told of the start of \(name)")
    }
    return complaints
  }
}
