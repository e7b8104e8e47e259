import CompositeOperations

/// Tasks that wait for their turn: first those that were requeued, then the others, each in the order in which they came.
///
/// Those that leave before their turn stay in it as empty places, which whoever takes the next one recognises, until there are
/// many of them.
struct TaskLine {
  private var urgent = HeadedQueue<Int>()
  private var normal = HeadedQueue<Int>()
  /// How many places are empty.
  private var emptyCount = 0

  var isEmpty: Bool { urgent.isEmpty && normal.isEmpty }

  /// How many places there are, empty ones included.
  var count: Int { urgent.count + normal.count }

  mutating func append(_ id: Int, isUrgent: Bool) {
    if isUrgent { urgent.append(id) } else { normal.append(id) }
  }

  mutating func popFirst() -> Int? { urgent.popFirst() ?? normal.popFirst() }

  /// One has left before its turn.
  mutating func left() { emptyCount += 1 }

  /// What was taken was an empty place.
  mutating func tookEmptyPlace() { emptyCount -= 1 }

  /// Whether so many places are empty that it is worth looking at all of them.
  var isSparse: Bool { emptyCount >= 32 && 2 * emptyCount > count }

  /// - Parameter isWaiting: whether a place is not empty.
  mutating func compact(where isWaiting: (Int) -> Bool) {
    urgent.keep(where: isWaiting)
    normal.keep(where: isWaiting)
    emptyCount = 0
  }
}
