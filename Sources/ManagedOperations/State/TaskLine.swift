import CompositeOperations

/// Tasks that wait for their turn: first the requeued ones, then the others, each in the order in
/// which they came.
///
/// A task that leaves before its turn leaves an empty place, which the caller recognizes when it
/// takes the place, or when there are many of them.
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

  /// A task has left before its turn.
  mutating func left() { emptyCount += 1 }

  /// The place that was taken was empty.
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

/// What one interceptor holds, in the order in which it was held.
///
/// A task that leaves, leaves an empty place: it is no longer held under the number of the place.
struct HeldBatch {
  typealias Place = (id: Int, number: Int)

  private var places = HeadedQueue<Place>()
  /// How many are held.
  private(set) var count = 0
  /// How often it was empty before what it holds now.
  private(set) var generation = 0

  mutating func append(_ place: Place) {
    if count == 0 { generation += 1 }
    places.append(place)
    count += 1
  }

  /// A task has left: it was cancelled, or released by itself.
  mutating func left() { count -= 1 }

  /// Takes up to `maxCount` out.
  ///
  /// - Parameter isHeld: whether a place is not empty.
  mutating func take(_ maxCount: Int, where isHeld: (Place) -> Bool) -> [Place] {
    var taken: [Place] = []
    while count > 0, taken.count < maxCount, let place = places.popFirst() {
      guard isHeld(place) else { continue }
      taken.append(place)
      count -= 1
    }
    if count == 0 { places = HeadedQueue() }
    return taken
  }

  /// Whether so many places are empty that it is worth looking at all of them.
  var isSparse: Bool { places.count >= 32 && places.count > 4 * count }

  mutating func compact(where isHeld: (Place) -> Bool) { places.keep(where: isHeld) }
}
