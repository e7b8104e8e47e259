import CompositeOperations

extension Timeline {
  /// How many units of work ran at once, at most.
  ///
  /// From when each was started until it settled, or until ``end``. Compositions, policies and what these wait for are no
  /// work. One that settles in the instant in which another starts did not run at the same time.
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
    // What took no time ran beside what was under way then.
    var (begun, over) = (0, 0)
    for instant in instants.sorted() {
      while begun < starts.count, starts[begun] <= instant { begun += 1 }
      while over < ends.count, ends[over] <= instant { over += 1 }
      most = max(most, begun - over + 1)
    }
    return most
  }
}
