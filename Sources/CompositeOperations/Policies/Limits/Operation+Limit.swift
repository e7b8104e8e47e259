import Foundation

extension ComposableOperation {
  /// Runs this operation when a limit that it shares with others has room for it.
  ///
  /// ```swift
  /// let api = SharedLimit("api", maxConcurrent: 4)
  /// let page = Download(url).limited(by: api)
  /// ```
  ///
  /// Returns one operation that owns this operation. After its start, the returned operation waits
  /// for the dependencies of this operation. Then it waits until there is room for its weight and
  /// the rate admits it, and then this operation runs. When this operation has finished, its room
  /// is given back, but not what it took of the rate. Waiting takes neither a slot of a queue nor a
  /// thread. As with `exclusive`, an operation that was itself added to a queue lends its slot
  /// while it waits.
  ///
  /// The line is first in, first out: only its first operation is considered. So no operation
  /// overtakes another. A heavy operation that waits for much room holds back the light operations
  /// behind it until its turn. Operations stand in line in the order in which they were started or
  /// added to a queue. Children of a composite stand in line in their order there.
  ///
  /// Operations inside this operation with the same limit use the room of this operation, whatever
  /// their weight. They go before operations that wait for room. They wait only for the rate, which
  /// counts each of them. So a limit never waits for itself. But it does not know other limits, or
  /// the categories of ``exclusive(_:in:)-(ExclusionCategory...,_)``. Operations that take two of
  /// these in opposite orders, one inside the other, can deadlock. Take them in the same order
  /// everywhere. Operations that a body starts by itself are not inside.
  ///
  /// If the returned operation is cancelled while it waits, it leaves the line at once, cancels
  /// this operation without running it, and settles as cancelled. If it has lent its slot, it
  /// settles when the slot is returned. An operation that is heavier than the limit fails with
  /// ``LimitError``. If this operation is running, queued or composed elsewhere, it is not held
  /// back: the returned operation waits for it, and holds its weight meanwhile.
  ///
  /// - Parameters:
  ///   - limit: the limit. Kept until the returned operation is released.
  ///   - weight: how much of the limit the operation takes. Traps unless it is positive.
  public func limited(by limit: SharedLimit, weight: Int = 1) -> SimpleOperation<Value> {
    ComposedOperation(GuardForm(self, LimitGuard(by: limit, weight: weight)))
  }
}
