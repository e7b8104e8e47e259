import Synchronization

/// Where an operation stands among those that wait for the same: those with lower numbers are first.
///
/// Numbers are given when operations are added to a queue or started, and by a parallel composition to its children,
/// whatever comes first; not when they come to wait, which they do on many threads at once.
enum Place {
  private static let last = Atomic(0)

  /// The next one.
  static func next() -> Int { last.add(1, ordering: .relaxed).newValue }

  /// The next ones, so many. Returns the first.
  static func next(_ count: Int) -> Int { last.add(count, ordering: .relaxed).oldValue + 1 }
}
