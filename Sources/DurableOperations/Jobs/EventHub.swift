import CompositeOperations

/// The listeners of a queue's events.
final class EventHub: Sendable {
  private struct State {
    var streams = EventFeeds<JobEvent>()
    var isEnded = false
  }

  private let state = LockBox(State())
  private let log: (@Sendable (JobEvent) -> Void)?

  init(log: (@Sendable (JobEvent) -> Void)? = nil) {
    self.log = log
  }

  /// Whether the program reads events.
  var isHeard: Bool { state.withLock { !$0.streams.isEmpty } }

  func stream(bufferingPolicy: AsyncStream<JobEvent>.Continuation.BufferingPolicy) -> AsyncStream<JobEvent> {
    let (stream, feed) = EventFeed<JobEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    // Released here, and so finished, if the queue has ended.
    guard let number = add(feed) else { return stream }
    feed.whenTerminated { [weak self] in self?.remove(number) }
    return stream
  }

  /// Returns the number to remove it by; nil if the queue has ended.
  func add(_ feed: EventFeed<JobEvent>) -> Int? {
    state.withLock { $0.isEnded ? nil : $0.streams.add(feed) }
  }

  func remove(_ number: Int) {
    let removed = state.withLock { $0.streams.remove(number) }
    withExtendedLifetime(removed) {}
  }

  func tell(_ event: @autoclosure () -> JobEvent.Content) {
    let streams = state.withLock { $0.streams.all }
    guard !streams.isEmpty else { return }
    let event = JobEvent(event())
    for stream in streams { stream.put(event) }
  }

  /// Reports an event to the log handler, even if no stream of events is read.
  func report(_ event: JobEvent.Content) {
    log?(JobEvent(event))
    tell(event)
  }

  func end() {
    let streams = state.withLock { state in
      state.isEnded = true
      return state.streams.removeAll()
    }
    for stream in streams { stream.end() }
  }
}
