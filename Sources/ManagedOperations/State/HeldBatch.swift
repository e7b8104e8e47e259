import CompositeOperations

/// What one interceptor holds, in the order in which it was held.
///
/// A task that leaves stays in it as an empty place: its number there is not the one under which it is held any more.
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

  /// One has left, by a cancel or since it was released by itself.
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
