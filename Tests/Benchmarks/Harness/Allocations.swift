import AllocationCounter

/// Counts allocations of memory.
enum Allocations {
  /// How many allocations each of `operations` operations makes, once for each round; none where
  /// they cannot be counted.
  ///
  /// That is the difference between a run of so many and one of twice as many: what a run does once
  /// falls out. Both have run before, so that the threads are there and caches are filled.
  static func perOperation(_ operations: Int, rounds: Int, of subject: (Int) -> Side) -> [Double] {
    guard allocation_counter_is_available() else { return [] }
    let sides = (once: subject(operations), twice: subject(2 * operations))
    _ = (count(sides.once), count(sides.twice))
    return (0..<rounds).map { _ in
      let once = count(sides.once)
      return Double(count(sides.twice) - once) / Double(operations)
    }
  }

  private static func count(_ side: Side) -> Int64 {
    allocation_counter_begin()
    _ = Stopwatch.nanoseconds(side)
    return allocation_counter_end()
  }
}
