import CompositeOperations

extension OperationManager {
  /// Makes a stream of what happens to all tasks from now on, in the order in which it happens.
  ///
  /// Each call makes a stream of its own. It ends when the manager was released and what executed has ended.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default the newest 1,024. What was
  ///   dropped is counted in ``ManagedEvent/droppedCount``.
  public func events(
    bufferingPolicy: AsyncStream<ManagedEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<ManagedEvent> {
    let (stream, feed) = EventFeed<ManagedEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let number = core.changeWatchers { $0.streams.add(feed) }
    feed.whenTerminated { [weak core] in
      let removed = core?.changeWatchers { $0.streams.remove(number) }
      withExtendedLifetime(removed) {}
    }
    return stream
  }

  /// Sets who gets a line for each thing that happens.
  ///
  /// ```swift
  /// manager.setLogHandler(level: .info) { message in print(message) }
  /// ```
  ///
  /// Called with one message at a time, in the order in which things happened, on the threads on which they did, under no
  /// lock; so it should not take long. It may use the manager; what it does there is told after it has returned. No message is
  /// made below the level, or without a handler.
  ///
  /// - Parameters:
  ///   - level: the least important messages to make.
  ///   - handler: gets them; nil for nobody.
  public func setLogHandler(level: LogMessage.Level = .debug, _ handler: (@Sendable (LogMessage) -> Void)?) {
    let replaced = core.changeWatchers { watchers in
      defer { watchers.log = handler.map { Watchers.Log(handler: $0, level: level) } }
      return watchers.log
    }
    withExtendedLifetime(replaced) {}
  }
}
