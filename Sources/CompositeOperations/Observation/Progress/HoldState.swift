/// Whether a paused progress holds back the children of a composition. It may be the progress of
/// this composition, or of one around it.
struct HoldState {
  private(set) var isPaused = false
  /// Incremented by each change of `isPaused`.
  private(set) var pauseRevision = 0
  /// How many compositions around this one hold it back. Briefly negative if a release arrives
  /// before its hold.
  var holders = 0
  /// The tags of the children that were notified of the hold.
  private var told: Set<Int> = []

  var isHeld: Bool { isPaused || holders > 0 }

  /// Sets `isPaused`. Returns whether this may have an effect.
  ///
  /// - Parameter revision: nothing changes if another change came after this revision; nil to
  ///   change `isPaused` anyway.
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

  /// Returns the changes that the children do not know yet.
  mutating func changes(among children: some Sequence<Int>) -> [(tag: Int, difference: Int)] {
    if !isHeld {
      defer { told = [] }
      return told.map { ($0, -1) }
    }
    return children.filter { told.insert($0).inserted }.map { ($0, 1) }
  }

  /// Removes a child that has ended. Returns whether it was held.
  mutating func forget(_ tag: Int) -> Bool { told.remove(tag) != nil }
}
