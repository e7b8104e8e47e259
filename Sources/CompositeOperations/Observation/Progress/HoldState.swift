/// Whether the children of a composition are held back, because its progress or one around it is paused.
struct HoldState {
  var isPaused = false
  /// How many compositions around this one hold it. Below zero for a moment, if one lets go before it is known to hold.
  var holders = 0
  /// The children that know that they are held by this one.
  private var told: Set<Int> = []

  var isHeld: Bool { isPaused || holders > 0 }

  /// What the children are to be told, so that they know.
  mutating func changes(among children: some Sequence<Int>) -> [(tag: Int, difference: Int)] {
    if !isHeld {
      defer { told = [] }
      return told.map { ($0, -1) }
    }
    return children.filter { told.insert($0).inserted }.map { ($0, 1) }
  }

  /// A child has ended. Returns whether it was held.
  mutating func forget(_ tag: Int) -> Bool { told.remove(tag) != nil }
}
