extension CronFields {
  /// Returns the next instant for an expression that names times of the day: each takes place once,
  /// also where the clock changes.
  func next(ofTheDayAfter instant: Int64, _ clock: WallClock) -> Int64? {
    var time = instant + clock.offset(at: instant)
    // More than one round only in the repeated part of a fold, whose times have passed, or after a
    // gap, at whose end they took place.
    while let match = firstMatch(after: time) {
      let found = clock.instant(showing: match)
      if found > instant { return found }
      time = match
    }
    return nil
  }

  /// Returns the next instant at which the clock on the wall shows a matching time.
  func next(onTheWallAfter instant: Int64, _ clock: WallClock) -> Int64? {
    // Longer than any change of the clock.
    let reach: Int64 = 25 * 3600
    var first = instant + 1
    var offset = clock.offset(at: first)
    while let match = firstMatch(after: first + offset - 1) {
      let found = match - offset
      let horizon = min(found, first + reach)
      if clock.offset(at: horizon) != offset {
        // The clock changes before: go on from there.
        first = clock.firstChange(after: first, through: horizon)
      } else if horizon == found {
        return found
      } else {
        // A fold further away than its own length repeats only times after `first`, of which none
        // before the match is one. So the search can skip to well before it.
        first = max(horizon, found - 2 * 86_400)
      }
      offset = clock.offset(at: first)
    }
    return nil
  }
}
