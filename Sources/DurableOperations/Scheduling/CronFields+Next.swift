extension CronFields {
  /// The next instant for an expression that names times of the day: each takes place once, also where the clock is changed.
  func next(ofTheDayAfter instant: Int64, _ clock: WallClock) -> Int64? {
    var time = instant + clock.offset(at: instant)
    // More than one round only in the repeated part of a fold, whose times have been, or after a gap, at whose end they were.
    while let match = firstMatch(after: time) {
      let found = clock.instant(showing: match)
      if found > instant { return found }
      time = match
    }
    return nil
  }

  /// The next instant at which the clock on the wall shows a matching time.
  func next(onTheWallAfter instant: Int64, _ clock: WallClock) -> Int64? {
    // Longer than the clock is ever set back or forward.
    let reach: Int64 = 25 * 3600
    var first = instant + 1
    var offset = clock.offset(at: first)
    while let match = firstMatch(after: first + offset - 1) {
      let found = match - offset
      let horizon = min(found, first + reach)
      if clock.offset(at: horizon) != offset {
        // The clock is changed before: go on from there.
        first = clock.firstChange(after: first, through: horizon)
      } else if horizon == found {
        return found
      } else {
        // A fold further away than its own length repeats only times after `first`, and of those none before the
        // match is one. So all up to a good bit before it can be left out.
        first = max(horizon, found - 2 * 86_400)
      }
      offset = clock.offset(at: first)
    }
    return nil
  }
}
