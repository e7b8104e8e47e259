import AllocationCounter

/// Counts allocations of memory.
enum Allocations {
  /// The allocations for each of `operations` operations, once for each round; empty if they cannot
  /// be counted.
  ///
  /// This is the difference between a run of this many and one of twice as many, which excludes
  /// what a run does once. Both have run before, so that threads exist and caches are filled.
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
