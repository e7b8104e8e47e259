/// How the writes of a transaction have changed the numbers of jobs of each kind and state.
///
/// These are no triggers of the database: with them, enqueuing a batch takes nearly twice as long.
struct CountDeltas {
  struct Key: Hashable, Comparable {
    let kind: Int64
    /// As stored: a damaged row may have an unknown state.
    let state: Int64

    static func < (left: Key, right: Key) -> Bool { (left.kind, left.state) < (right.kind, right.state) }
  }

  // Consecutive changes are mostly about the same kind, which is looked up once.
  private var kind: Int64 = 0
  private var state: Int64 = 0
  private var count: Int64 = 0
  private var others: [Key: Int64] = [:]

  var isEmpty: Bool { count == 0 && others.isEmpty }

  /// Notes that jobs were stored, or, below zero, deleted.
  mutating func add(_ count: Int64, kind: Int64, state: Int64) {
    if kind != self.kind || state != self.state {
      putAside()
      (self.kind, self.state) = (kind, state)
    }
    self.count += count
  }

  private mutating func putAside() {
    guard count != 0 else { return }
    others[Key(kind: kind, state: state), default: 0] += count
    count = 0
  }

  /// Notes that jobs have gone from one state to another.
  mutating func move(_ count: Int64 = 1, ofKind kind: Int64, from old: Int64, to new: Int64) {
    guard old != new, count != 0 else { return }
    add(-count, kind: kind, state: old)
    add(count, kind: kind, state: new)
  }

  /// Takes all changes that are not zero, in a fixed order.
  mutating func take() -> [(key: Key, count: Int64)] {
    putAside()
    defer { self = CountDeltas() }
    return others.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
