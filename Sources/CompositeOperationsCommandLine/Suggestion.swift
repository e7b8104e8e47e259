/// Finds what the user may have meant, for “Did you mean …?”.
package enum Suggestion {
  /// The candidate that differs least from `word`, if it differs only in case, or in about a third
  /// of its letters at most.
  package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    let letters = Array(word.lowercased().utf8)
    let limit = max(1, letters.count / 3)
    var best: (distance: Int, candidate: String)?
    for candidate in candidates {
      // A cheap check first: most names differ too much in length.
      guard abs(candidate.utf8.count - letters.count) <= limit else { continue }
      let atMost = best?.distance ?? limit
      guard let distance = distance(letters, Array(candidate.lowercased().utf8), atMost: atMost) else { continue }
      if let best, (best.distance, best.candidate) <= (distance, candidate) { continue }
      best = (distance, candidate)
    }
    return best?.candidate
  }

  /// How many letters have to be inserted, removed, replaced, or swapped with the next one to turn
  /// one word into the other; nil if there are more than `limit`.
  private static func distance(_ first: [UInt8], _ second: [UInt8], atMost limit: Int) -> Int? {
    var previous = Array(0...second.count)
    var beforePrevious = previous
    var current = previous
    for (row, letter) in first.enumerated() {
      current[0] = row + 1
      var smallest = row + 1
      for (column, other) in second.enumerated() {
        let replaced = previous[column] + (letter == other ? 0 : 1)
        var cost = min(replaced, previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, letter == second[column - 1], other == first[row - 1] {
          cost = min(cost, beforePrevious[column - 1] + 1)
        }
        current[column + 1] = cost
        smallest = min(smallest, cost)
      }
      // A swap skips a row, but its cost is not less than the costs in that row.
      guard smallest <= limit else { return nil }
      (beforePrevious, previous, current) = (previous, current, beforePrevious)
    }
    return previous[second.count] <= limit ? previous[second.count] : nil
  }
}
