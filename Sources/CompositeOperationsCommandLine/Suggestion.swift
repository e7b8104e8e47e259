/// Finds what somebody may have meant, for "did you mean …?".
package enum Suggestion {
  /// The candidate that differs least from `word`, when it differs little: in case only, or in about a third of its
  /// letters at most.
  package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    let letters = Array(word.lowercased().utf8)
    let limit = max(1, letters.count / 3)
    var best: (distance: Int, candidate: String)?
    for candidate in candidates {
      // The first look costs nothing: most names differ too much in their length already.
      guard abs(candidate.utf8.count - letters.count) <= limit else { continue }
      let atMost = best?.distance ?? limit
      guard let distance = distance(letters, Array(candidate.lowercased().utf8), atMost: atMost) else { continue }
      if let best, (best.distance, best.candidate) <= (distance, candidate) { continue }
      best = (distance, candidate)
    }
    return best?.candidate
  }

  /// How many letters must be put in, taken out, replaced, or swapped with the next one to get from one word to the
  /// other; nil when more than `limit`.
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
      // A swap leaps over a row, to a cost that is not less than what stands in that.
      guard smallest <= limit else { return nil }
      (beforePrevious, previous, current) = (previous, current, beforePrevious)
    }
    return previous[second.count] <= limit ? previous[second.count] : nil
  }
}
