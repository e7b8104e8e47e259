import CompositeOperations

/// The entries of a timeline as a tree.
///
/// Each entry is reached from a root exactly once, even if numbers repeat, or parents are missing
/// or form a circle.
struct TimelineTree {
  let timeline: Timeline
  /// The indices in `timeline.entries` of entries without a parent, in order.
  private(set) var roots: [Int] = []
  /// The indices of the children of each entry, in order.
  private(set) var children: [[Int]]
  /// The index of the parent of each entry.
  private(set) var parents: [Int?]

  init(_ timeline: Timeline) {
    self.timeline = timeline
    let entries = timeline.entries
    var places: [Int: Int] = [:]
    for (place, entry) in entries.enumerated() where places[entry.id] == nil { places[entry.id] = place }
    parents = entries.indices.map { place in
      guard places[entries[place].id] == place, let parent = entries[place].parent else { return nil }
      return places[parent]
    }
    TimelineTree.breakCircles(&parents)
    children = Array(repeating: [], count: entries.count)
    for (place, parent) in parents.enumerated() {
      if let parent { children[parent].append(place) } else { roots.append(place) }
    }
  }

  /// Makes a root of one entry in each circle of parents.
  private static func breakCircles(_ parents: inout [Int?]) {
    // The walk that reached each entry. A walk that reaches one of its own again has found a
    // circle.
    var walks = [Int](repeating: -1, count: parents.count)
    for start in parents.indices {
      var place = start
      while walks[place] < 0 {
        walks[place] = start
        guard let parent = parents[place] else { break }
        if walks[parent] == start {
          parents[place] = nil
          break
        }
        place = parent
      }
    }
  }

  /// One step of a walk through the tree.
  struct Visit {
    let place: Int
    let depth: Int
    /// Whether it is the last of its parent's children, or of the roots.
    let isLast: Bool
  }

  /// Calls `body` for each entry, a parent before its children.
  func walk(_ body: (Visit) -> Void) {
    var pending: [Visit] = []
    func push(_ places: [Int], depth: Int) {
      for (index, place) in places.enumerated().reversed() {
        pending.append(Visit(place: place, depth: depth, isLast: index == places.count - 1))
      }
    }
    push(roots, depth: 0)
    while let visit = pending.popLast() {
      body(visit)
      push(children[visit.place], depth: visit.depth + 1)
    }
  }
}
