import Foundation
import TestSupport

@testable import CompositeOperations

/// Monitors all compositions of one tree, as recorders and progress trees do, and complains unless
/// the calls for each child come in order and once.
final class TreeMonitor: CompositionMonitor {
  private struct Child: Hashable {
    let composition: ObjectIdentifier
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
    var compositions: [ObjectIdentifier: Composition] = [:]
    var isOver = false
  }

  private let state = Locked(State())

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {
    advance(composition, child, tag, to: .added)
  }

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {
    advance(composition, child, tag, to: .started)
  }

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {
    advance(composition, child, tag, to: .settled)
  }

  private func advance(_ composition: Composition, _ child: Operation, _ tag: Int, to stage: Stage) {
    let name = child.name ?? ""
    state.withLock { state in
      if state.isOver { return }
      let key = Child(composition: ObjectIdentifier(composition), tag: tag)
      let before = state.stages.updateValue(stage, forKey: key)
      let isRight =
        switch stage {
        case .added: before == nil
        case .started: before == .added
        case .settled: before == .added || before == .started
        }
      if !isRight { state.complaints.append("the monitor was told that \(name) was \(stage) after \(before as Any)") }
      if stage == .started { state.started.insert(name) }
      state.compositions[key.composition] = composition
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
