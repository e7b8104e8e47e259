import CompositeOperations
import OperationTimelines

/// The invariants of every timeline that a recorder makes.
public enum TimelineSoundness {
  /// Returns the violated invariants.
  public static func complaints(about timeline: Timeline) -> [String] {
    var complaints: [String] = []
    var known: [Int: Timeline.Entry] = [:]
    for entry in timeline.entries {
      func complain(_ text: String) { complaints.append("\(entry.id) (\(entry.title)) \(text)") }
      if known.updateValue(entry, forKey: entry.id) != nil { complain("is there twice") }
      if let started = entry.started {
        if started < entry.queued { complain("started before it was queued") }
        if let settled = entry.settled, settled < started { complain("settled before it started") }
        if entry.thread == nil { complain("started on no thread") }
      }
      for instant in [entry.queued, entry.started, entry.settled] where instant ?? .zero > timeline.end {
        complain("has an instant after the end")
      }
      if entry.settled == nil, entry.ending != nil { complain("ended without settling") }
      guard let number = entry.parent else { continue }
      guard let parent = known[number] else {
        complain("stands before its parent")
        continue
      }
      if entry.queued < parent.queued { complain("was queued before its parent") }
      if let started = entry.started, started < parent.started ?? .seconds(1 << 40) {
        complain("started at \(started), before its parent, which started at \(parent.started as Any)")
      }
      if let end = parent.settled, entry.settled ?? .seconds(1 << 40) > end {
        complain("settled at \(entry.settled as Any), after its parent at \(end)")
      }
    }
    return complaints
  }
}
