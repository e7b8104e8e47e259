import Foundation

// Limits for operations of any kind.

extension ComposableOperation {
  /// Runs this operation when a limit that it shares with others has room for it.
  ///
  /// ```swift
  /// let api = SharedLimit("api", maxConcurrent: 4)
  /// let page = Download(url).limited(by: api)
  /// ```
  ///
  /// Returns one operation that owns this one. After its start it waits for the dependencies of
  /// this operation, then until there is room for its weight and the rate admits it; then this
  /// operation runs. The room, but not what it took of the rate, is given back when this operation
  /// has finished. Waiting takes neither a slot of a queue nor a thread; as for `exclusive`, an
  /// operation that was itself added to a queue lends its slot while it waits.
  ///
  /// The line is first in, first out: only its first operation is considered. So none overtakes
  /// another, and a heavy operation that waits for much room holds back the light ones behind it
  /// until its turn. An operation's place is that of its start, its adding to a queue, or its index
  /// among the children of a composite.
  ///
  /// Operations inside this one with the same limit use the room of this one, whatever their
  /// weight, and go before those that wait for room; they wait only for the rate, which counts each
  /// of them. So a limit never waits for itself. It does not know other limits, or the categories
  /// of ``exclusive(_:in:)-(ExclusionCategory...,_)``: operations that take two of them in opposite
  /// orders, one inside the other, can deadlock. Take them in the same order everywhere. Operations
  /// that a body starts by itself are not inside.
  ///
  /// If its ``SettlingOperation/progress`` is paused before it starts, the returned operation takes
  /// no room until it is resumed, and then has the place of its start. If paused later, it keeps
  /// its place or its room.
  ///
  /// If the returned operation is cancelled while it waits, it leaves the line at once, cancels
  /// this one without running it, and settles as cancelled; if it has lent its slot, when that is
  /// returned. An operation that is heavier than the limit fails with ``LimitError``. An operation
  /// that is running, queued or composed elsewhere is not held back: the returned one waits for it,
  /// and holds its weight meanwhile.
  ///
  /// - Parameters:
  ///   - limit: the limit. Kept until the returned operation is released.
  ///   - weight: how much of the limit it takes. Traps unless it is positive.
  public func limited(by limit: SharedLimit, weight: Int = 1) -> SimpleOperation<Value> {
    ComposedOperation(LimitSource(self, by: limit, weight: weight, givesVoid: false))
  }
}

extension Operation {
  /// Limits an operation of any other type, which has no value: see
  /// ``ComposableOperation/limited(by:weight:)``.
  @_disfavoredOverload
  public final func limited(by limit: SharedLimit, weight: Int = 1) -> SimpleOperation<Void> {
    ComposedOperation(LimitSource(self, by: limit, weight: weight, givesVoid: true))
  }
}
