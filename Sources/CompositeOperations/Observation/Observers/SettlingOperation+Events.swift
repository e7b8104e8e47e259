import Foundation

extension SettlingOperation {
  /// Makes a stream of what happens to the operation from now on, in the order in which it happens.
  ///
  /// ```swift
  /// for await event in upload.events() {
  ///   if let fraction = event.fractionCompleted { show(fraction) }
  /// }
  /// ```
  ///
  /// Each call makes a stream of its own. It ends after `settled`, which comes at once for an operation that has settled,
  /// or when the operation is released without having settled. To cancel the task that reads it, or to release the
  /// stream, ends it too, and counts as leaving: see ``cancelsWhenLastObserverLeaves``. A loop that is left with `break`
  /// lets go of the stream if nothing else holds it.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default the newest 1,024. What
  ///   was dropped is counted in ``OperationEvent/droppedCount``.
  public final func events(
    bufferingPolicy: AsyncStream<OperationEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<OperationEvent> {
    let (stream, feed) = EventFeed<OperationEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let record = ObserverRecord(interests: .everything, at: .anywhere) { event, _ in
      feed.put(event)
      if case .settled = event.content { feed.end() }
    }
    let token = ObservationToken(record, in: add(record))
    // The token keeps neither the record nor the hub, so nothing here keeps itself alive.
    feed.whenTerminated { token.remove() }
    return stream
  }
}

extension OperationEvent: CountedEvent {}
