import CompositeOperations

extension Workflow {
  /// Makes a stream of what happens from now on, in the order in which it happens.
  ///
  /// Each call makes a stream of its own. It ends after the event with which a run settles, or when the workflow is
  /// released; a run that pauses does not end it.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default the newest 1,024. What
  ///   was dropped is counted in ``WorkflowEvent/droppedCount``.
  public func events(
    bufferingPolicy: AsyncStream<WorkflowEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<WorkflowEvent> {
    let (stream, feed) = EventFeed<WorkflowEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let number = storage.withLock { storage in
      defer { storage.noteObservers() }
      return storage.streams.add(feed)
    }
    feed.whenTerminated { [weak self] in self?.removeStream(number) }
    return stream
  }

  func removeStream(_ number: Int) {
    let removed = storage.withLock { storage in
      defer { storage.noteObservers() }
      return storage.streams.remove(number)
    }
    withExtendedLifetime(removed) {}
  }
}
