import CompositeOperations

extension Timeline {
  /// The numbers of the entries that determined when everything ended, in the order in which they
  /// were started.
  ///
  /// The path goes back from the entry without a parent that ended last. Among its children it
  /// takes the child that settled last, then the child that settled last before that one started,
  /// and so on; and the same inside of each. So the whole ends earlier only if one of these takes
  /// less time, or waits less. Entries that never started are not on the path. An entry that has
  /// not settled counts as settling at ``end``, and one that outlasts its parent as settling with
  /// it.
  public var criticalPath: [Entry.ID] {
    let tree = TimelineTree(self)
    return CriticalPath(tree).places.map { entries[$0].id }
  }
}

/// The chain of entries that determined the end of a timeline.
struct CriticalPath {
  /// The places of the entries in the timeline, in the order in which they were started; a parent
  /// before its children.
  private(set) var places: [Int] = []

  private struct Span {
    let place: Int
    let started: Duration
    let settled: Duration
  }

  init(_ tree: TimelineTree) {
    let timeline = tree.timeline
    func spans(of places: [Int], until end: Duration) -> [Span] {
      places.compactMap { place in
        let entry = timeline.entries[place]
        guard let started = entry.started, started <= end else { return nil }
        return Span(place: place, started: started, settled: min(entry.settled ?? timeline.end, end))
      }
    }
    // The latest end comes first; among equal ends the latest beginning.
    func latestFirst(_ left: Span, _ right: Span) -> Bool {
      (left.settled, left.started, left.place) > (right.settled, right.started, right.place)
    }
    let roots = spans(of: tree.roots, until: timeline.end)
    var pending = roots.sorted(by: latestFirst).prefix(1).map { $0 }
    while let span = pending.popLast() {
      places.append(span.place)
      var before = span.settled
      for child in spans(of: tree.children[span.place], until: span.settled).sorted(by: latestFirst)
      where child.settled <= before {
        pending.append(child)
        before = child.started
      }
    }
  }
}

extension Timeline {
  /// The maximum number of units of work that ran at once.
  ///
  /// A unit of work runs from its start until it settles, or until ``end``. Compositions, policies
  /// and what these wait for do not count. If one settles in the instant in which another starts,
  /// they did not run at the same time.
  public var peakConcurrency: Int {
    let tree = TimelineTree(self)
    var starts: [Duration] = []
    var ends: [Duration] = []
    var instants: [Duration] = []
    for (place, entry) in entries.enumerated() {
      guard tree.children[place].isEmpty, entry.kind.isWork, let started = entry.started else { continue }
      let settled = entry.settled ?? end
      if settled > started {
        starts.append(started)
        ends.append(settled)
      } else {
        instants.append(started)
      }
    }
    starts.sort()
    ends.sort()
    var (most, ended) = (0, 0)
    for (index, start) in starts.enumerated() {
      while ends[ended] <= start { ended += 1 }
      most = max(most, index + 1 - ended)
    }
    // An entry that took no time ran beside those that were under way then.
    var (begun, over) = (0, 0)
    for instant in instants.sorted() {
      while begun < starts.count, starts[begun] <= instant { begun += 1 }
      while over < ends.count, ends[over] <= instant { over += 1 }
      most = max(most, begun - over + 1)
    }
    return most
  }
}
