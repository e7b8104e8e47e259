import Foundation

extension SettlingOperation {
  /// Makes a stream of the operation's events from now on, in the order in which they happen.
  ///
  /// ```swift
  /// for await event in upload.events() {
  ///   if let fraction = event.fractionCompleted { show(fraction) }
  /// }
  /// ```
  ///
  /// Each call makes a stream of its own. The stream ends after `settled`, or when the operation is
  /// released without having settled. If the operation has already settled, `settled` comes at
  /// once. Cancelling the reading task or releasing the stream also ends the stream, and counts as
  /// leaving: see ``cancelsWhenLastObserverLeaves``. Leaving a loop with `break` releases the
  /// stream if nothing else holds it.
  ///
  /// - Parameter bufferingPolicy: which events to keep for a slow reader; the newest 1,024 by
  ///   default. ``OperationEvent/droppedCount`` counts the others.
  public final func events(
    bufferingPolicy: AsyncStream<OperationEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<OperationEvent> {
    let (stream, feed) = EventFeed<OperationEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let record = ObserverRecord(interests: .everything) { event, _ in
      feed.put(event)
      if case .settled = event.content { feed.end() }
    }
    let token = add(record)
    // The token keeps neither the record nor the hub, so nothing here keeps itself alive.
    feed.whenTerminated { token.remove() }
    return stream
  }
}

extension OperationEvent: CountedEvent {}
