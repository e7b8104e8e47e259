import Foundation

// Limits for operations of any kind.

extension ComposableOperation {
  /// Runs this operation when a limit, which it shares with others, has room for it.
  ///
  /// ```swift
  /// let api = SharedLimit("api", maxConcurrent: 4)
  /// let page = Download(url).limited(by: api)
  /// ```
  ///
  /// Returns one operation that owns this one. Once that has started, the dependencies of this operation are waited for;
  /// then it waits until there is room for its weight, and the rate lets it start; then this operation runs. The room is
  /// given back when that has finished; what it took of the rate is not. Waiting takes neither a slot of a queue
  /// nor a thread; as for `exclusive`, an operation that was itself added to a queue lends its slot while it waits.
  ///
  /// The first to come is the first to go: only the first in the line is looked at. So none overtakes another, and a heavy
  /// operation that waits for much room holds back the light ones behind it, until it has its turn. Earlier is what was
  /// started first, or added to a queue first, or comes first among the children of a composite.
  ///
  /// Operations inside this one that are limited by the same limit use the room that this one has, whatever they weigh,
  /// and go ahead of those that wait for room; they wait for the rate alone, which counts each of them. So a limit never
  /// waits for itself. Other limits, and the categories of ``exclusive(_:in:)-(ExclusionCategory...,_)``, are not known to
  /// it: operations that hold one and wait inside for another, which others take the other way round, wait for each other
  /// for ever. Take them in the same order everywhere. Operations that a body starts by itself are not inside.
  ///
  /// Paused by its ``SettlingOperation/progress`` before it starts, the returned operation takes no room until it is
  /// resumed, and then has the place of its start. Paused later, it keeps its place, or the room that it has.
  ///
  /// Cancelled while it waits, the returned operation leaves the line at once, cancels this one without running it, and
  /// settles as cancelled; if it has lent its slot, when that is back. One that is heavier than the limit fails with
  /// ``LimitError``. An operation that is running, queued or composed elsewhere is not held back: it is waited for,
  /// while its weight is held.
  ///
  /// - Parameters:
  ///   - limit: the limit. Kept until the returned operation is released.
  ///   - weight: how much of the limit it takes. Traps unless it is positive.
  public func limited(by limit: SharedLimit, weight: Int = 1) -> SimpleOperation<Value> {
    ComposedOperation(LimitSource(self, by: limit, weight: weight, givesVoid: false))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see ``ComposableOperation/limited(by:weight:)``.
  @_disfavoredOverload
  public final func limited(by limit: SharedLimit, weight: Int = 1) -> SimpleOperation<Void> {
    ComposedOperation(LimitSource(self, by: limit, weight: weight, givesVoid: true))
  }
}
