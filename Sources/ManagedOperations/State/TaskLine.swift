/// Tasks that wait for their turn: first those that were requeued, then the others, each in the order in which they came.
///
/// Those that leave before their turn stay in it as empty places, which whoever takes the next one recognises.
struct TaskLine {
  private struct Lane {
    var places: [Int] = []
    var head = 0

    var isEmpty: Bool { head == places.count }
    var count: Int { places.count - head }

    mutating func popFirst() -> Int? {
      guard head < places.count else { return nil }
      let first = places[head]
      head += 1
      if head == places.count {
        places.removeAll(keepingCapacity: head < 1024)
        head = 0
      } else if head >= 1024, head > places.count / 2 {
        places.removeFirst(head)
        head = 0
      }
      return first
    }
  }

  private var urgent = Lane()
  private var normal = Lane()

  var isEmpty: Bool { urgent.isEmpty && normal.isEmpty }

  /// How many places there are, empty ones included.
  var count: Int { urgent.count + normal.count }

  mutating func append(_ id: Int, isUrgent: Bool) {
    if isUrgent { urgent.places.append(id) } else { normal.places.append(id) }
  }

  mutating func popFirst() -> Int? { urgent.popFirst() ?? normal.popFirst() }

  mutating func removeAll() { self = TaskLine() }
}

/// What one interceptor holds, in the order in which it was held.
///
/// A task that leaves stays in it as an empty place: its number there is not the one under which it is held any more.
struct HeldBatch {
  typealias Place = (id: Int, number: Int)

  private var places: [Place] = []
  private var head = 0
  /// How many are held.
  private(set) var count = 0
  /// How often it was empty before what it holds now.
  private(set) var generation = 0

  mutating func append(_ place: Place) {
    if count == 0 { generation += 1 }
    places.append(place)
    count += 1
  }

  /// One has left, by a cancel or since it was released by itself.
  mutating func left() { count -= 1 }

  /// Takes up to `maxCount` out.
  ///
  /// - Parameter isHeld: whether a place is not empty.
  mutating func take(_ maxCount: Int, where isHeld: (Place) -> Bool) -> [Place] {
    var taken: [Place] = []
    while count > 0, taken.count < maxCount, head < places.count {
      let place = places[head]
      head += 1
      guard isHeld(place) else { continue }
      taken.append(place)
      count -= 1
    }
    if count == 0 {
      places = []
      head = 0
    } else if head >= 1024, head > places.count / 2 {
      places.removeFirst(head)
      head = 0
    }
    return taken
  }

  /// Whether so many places are empty that it is worth looking at all of them.
  var isSparse: Bool { places.count >= 32 && places.count > 4 * count }

  mutating func compact(where isHeld: (Place) -> Bool) {
    places = places[head...].filter(isHeld)
    head = 0
  }
}
