import Synchronization

/// The global order of operations that wait for the same thing: lower numbers go first.
///
/// An operation that a queue starts has the number of the moment when it was added, a child of a
/// parallel composition that of its index, any other that of its start; not that of the moment when
/// it begins to wait, which many operations do at once.
enum Place {
  private static let last = Atomic(0)

  /// Returns the next number.
  static func next() -> Int { last.add(1, ordering: .relaxed).newValue }

  /// Reserves `count` numbers. Returns the first.
  static func next(_ count: Int) -> Int { last.add(count, ordering: .relaxed).oldValue + 1 }
}
