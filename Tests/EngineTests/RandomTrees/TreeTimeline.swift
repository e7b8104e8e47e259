import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport

/// Records random trees, and complains unless the record matches the run.
struct TreeTimeline {
  private let recorder = TimelineRecorder()

  func attach(to root: Operation) {
    recorder.attach(to: root)
  }

  /// What is wrong, once the tree has ended.
  ///
  /// - Parameters:
  ///   - root: the root, which has finished.
  ///   - ran: the names of the operations inside of it whose body was run.
  ///   - repeated: the names of those that were added twice.
  func complaints(root: Operation, ran: [String], repeated: Set<String>) -> [String] {
    let timeline = recorder.timeline
    var complaints = TimelineSoundness.complaints(about: timeline)
    // These have the names of their wrapped operations.
    let wrappers: [Timeline.Kind] = [.map, .mapAsync, .recover, .settled, .timeout, .retry, .condition, .exclusive]
    let byName = Dictionary(grouping: timeline.entries.filter { !wrappers.contains($0.kind) }, by: { $0.name ?? "" })
    for (name, entries) in byName where name != "" && entries.count > (repeated.contains(name) ? 2 : 1) {
      complaints.append("\(name) was recorded \(entries.count) times")
    }
    for name in ran where byName[name]?.first?.started == nil {
      complaints.append("the start of \(name) was not recorded")
    }
    for entry in timeline.entries where entry.settled == nil {
      complaints.append("the settlement of \(entry.title) was not recorded")
    }
    let roots = timeline.entries.filter { $0.parent == nil }
    let ending: Timeline.Ending? =
      switch root.anyOutcome {
      case .success: .success
      case .failure: roots.first?.ending
      case .cancelled: .cancelled
      case nil: nil
      }
    if roots.count != 1 || roots[0].ending != ending { complaints.append("the root was recorded as \(roots)") }
    return complaints.map { "timeline: \($0)" }
  }
}
