/// What has to be told in order, by one thread at a time: whoever puts something in while nobody tells does that, and goes on until
/// nothing is left, also of what comes meanwhile.
///
/// It is kept with the state that it tells of, under the same lock; it is told outside of the lock.
@frozen
package struct Outbox<Entry> {
  @usableFromInline var waiting: [Entry] = []
  @usableFromInline var isTold = false

  @inlinable
  package init() {}

  /// What nobody has begun to tell.
  @inlinable package var entries: [Entry] { waiting }

  @inlinable package var isEmpty: Bool { waiting.isEmpty }

  /// Whether somebody is telling.
  @inlinable package var isDelivering: Bool { isTold }

  @inlinable
  package mutating func append(_ entry: Entry) { waiting.append(entry) }

  @inlinable
  package mutating func append(contentsOf entries: some Sequence<Entry>) { waiting.append(contentsOf: entries) }

  /// Whether the caller has to tell what is in it. Else there is nothing, or somebody does.
  @inlinable
  package mutating func beginDelivery() -> Bool {
    guard !isTold, !waiting.isEmpty else { return false }
    isTold = true
    return true
  }

  /// What the caller tells next; nil if nothing is left, and nobody tells any more.
  @inlinable
  package mutating func nextDelivery() -> [Entry]? {
    guard !waiting.isEmpty else {
      isTold = false
      return nil
    }
    var delivery: [Entry] = []
    swap(&delivery, &waiting)
    return delivery
  }
}

extension Outbox: Sendable where Entry: Sendable {}
