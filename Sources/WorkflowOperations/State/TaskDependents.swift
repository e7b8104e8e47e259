/// For each task those that have it as a prerequisite, in the order in which they were added, as
/// often as they do.
///
/// All lists are in one array, each entry with the place of the next one: a graph of very many
/// tasks is then built, walked and released without an allocation for each.
struct TaskDependents: Sendable {
  /// What one task has, in order.
  struct List: Sequence, IteratorProtocol {
    fileprivate let links: [Link]
    fileprivate var place: Int32

    mutating func next() -> Int? {
      guard place >= 0 else { return nil }
      let link = links[Int(place)]
      place = link.next
      return Int(link.dependent)
    }
  }

  fileprivate struct Link: Sendable {
    let dependent: Int32
    /// The place of the next one of the same list; -1 at its end.
    var next: Int32 = -1
  }

  private var links: [Link] = []
  /// The places of each task's first and last link; -1 for none.
  private var ends: [(first: Int32, last: Int32)] = []

  mutating func addTask() {
    ends.append((-1, -1))
  }

  mutating func add(_ dependent: Int, to task: Int) {
    let place = Int32(links.count)
    links.append(Link(dependent: Int32(dependent)))
    if ends[task].last < 0 {
      ends[task].first = place
    } else {
      links[Int(ends[task].last)].next = place
    }
    ends[task].last = place
  }

  subscript(task: Int) -> List { List(links: links, place: ends[task].first) }
}
