import Foundation

extension SettlingOperation {
  /// Makes a stream of what happens to the operation from now on, in the order in which it happens.
  ///
  /// ```swift
  /// for await event in upload.events() {
  ///   if case .progress(let fraction) = event { show(fraction) }
  /// }
  /// ```
  ///
  /// Each call makes a stream of its own. It ends after `settled`, which comes at once for an operation that has settled,
  /// or when the operation is released without having settled. To cancel the task that reads it, or to release the
  /// stream, ends it too, and counts as leaving: see ``cancelsWhenLastObserverLeaves``. A loop that is left with `break`
  /// lets go of the stream if nothing else holds it.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default the newest 1,024.
  public final func events(
    bufferingPolicy: AsyncStream<OperationEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<OperationEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: OperationEvent.self, bufferingPolicy: bufferingPolicy)
    let feed = EventFeed(continuation)
    let record = ObserverRecord(interests: .everything, queue: nil) { event in feed.put(event) }
    let token = ObservationToken(record, in: add(record))
    // The token keeps neither the record nor the hub, so nothing here keeps itself alive.
    continuation.onTermination = { _ in token.remove() }
    return stream
  }
}

/// What puts events into a stream. The stream ends when it is released, at the latest.
private final class EventFeed: Sendable {
  private let continuation: AsyncStream<OperationEvent>.Continuation

  init(_ continuation: AsyncStream<OperationEvent>.Continuation) {
    self.continuation = continuation
  }

  deinit {
    continuation.finish()
  }

  func put(_ event: OperationEvent) {
    continuation.yield(event)
    if case .settled = event { continuation.finish() }
  }
}
