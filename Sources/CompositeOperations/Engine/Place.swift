import Synchronization

/// The global order of operations that wait for the same thing: lower numbers go first.
///
/// An operation gets its number when it is added to a queue, started, or needed in a parallel
/// composition, whichever is first; not when it begins to wait, which happens on many threads at
/// once.
enum Place {
  private static let last = Atomic(0)

  /// Returns the next number.
  static func next() -> Int { last.add(1, ordering: .relaxed).newValue }

  /// Reserves `count` numbers. Returns the first.
  static func next(_ count: Int) -> Int { last.add(count, ordering: .relaxed).oldValue + 1 }
}
