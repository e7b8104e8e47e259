/// Entries that one thread at a time delivers, in order.
///
/// The thread that appends an entry while no other thread delivers becomes the one that delivers.
/// It continues until the outbox is empty, and so delivers what other threads append meanwhile. The
/// lock of the state that the entries describe guards the outbox; delivery happens outside that
/// lock.
@frozen
package struct Outbox<Entry> {
  @usableFromInline var waiting: [Entry] = []
  @usableFromInline var isTaken = false

  @inlinable
  package init() {}

  /// The entries whose delivery has not begun.
  @inlinable package var entries: [Entry] { waiting }

  @inlinable package var isEmpty: Bool { waiting.isEmpty }

  /// Whether a thread is delivering.
  @inlinable package var isDelivering: Bool { isTaken }

  @inlinable
  package mutating func append(_ entry: Entry) { waiting.append(entry) }

  @inlinable
  package mutating func append(contentsOf entries: some Sequence<Entry>) { waiting.append(contentsOf: entries) }

  /// Returns whether the caller must deliver: false if the outbox is empty, or another thread
  /// delivers.
  @inlinable
  package mutating func beginDelivery() -> Bool {
    guard !isTaken, !waiting.isEmpty else { return false }
    isTaken = true
    return true
  }

  /// Returns the entries to deliver next; nil if the outbox is empty, which ends the delivery.
  @inlinable
  package mutating func nextDelivery() -> [Entry]? {
    guard !waiting.isEmpty else {
      isTaken = false
      return nil
    }
    var delivery: [Entry] = []
    swap(&delivery, &waiting)
    return delivery
  }
}

extension Outbox: Sendable where Entry: Sendable {}
