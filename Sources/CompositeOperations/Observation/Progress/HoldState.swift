/// Whether the children of a composition are held back, because its progress or one around it is paused.
struct HoldState {
  private(set) var isPaused = false
  /// How often it was said whether it is.
  private(set) var pauseRevision = 0
  /// How many compositions around this one hold it. Below zero for a moment, if one lets go before it is known to hold.
  var holders = 0
  /// The children that know that they are held by this one.
  private var told: Set<Int> = []

  var isHeld: Bool { isPaused || holders > 0 }

  /// Returns whether that may change something.
  ///
  /// - Parameter revision: changes nothing if something else was said after this one; nil to do it anyway.
  mutating func setPaused(_ isPaused: Bool, ifStillAt revision: Int?) -> Bool {
    if let revision, revision != pauseRevision || isPaused == self.isPaused { return false }
    self.isPaused = isPaused
    pauseRevision += 1
    return true
  }

  mutating func letGo() {
    isPaused = false
    holders = 0
  }

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
