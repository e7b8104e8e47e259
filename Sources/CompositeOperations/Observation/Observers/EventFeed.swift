import Synchronization

/// An event that counts the events of its stream that were dropped.
package protocol CountedEvent: Sendable {
  /// How many events the stream dropped before this one. Inside the stream, until the reader takes
  /// the event: the number of the event.
  var droppedCount: Int { get set }
}

/// The writing end of one event stream. All event streams of the package use it.
///
/// The stream ends when the feed ends or is released. Events are numbered as they arrive. So the
/// reader of an event knows exactly how many events were dropped before it.
package final class EventFeed<Event: CountedEvent>: Sendable {
  package typealias BufferingPolicy = AsyncStream<Event>.Continuation.BufferingPolicy

  private struct State {
    var lastNumber = 0
    /// The events to put into the stream; nil for its end.
    var outbox = Outbox<Event?>()

    /// Returns whether the caller must put the waiting events into the stream.
    mutating func enqueue(_ event: Event?) -> Bool {
      var event = event
      if event != nil { lastNumber += 1 }
      event?.droppedCount = lastNumber
      outbox.append(event)
      return outbox.beginDelivery()
    }
  }

  /// How many events a reader has taken.
  private final class Reading: Sendable {
    let takenCount = Atomic(0)
  }

  /// Where the events go.
  private enum Destination {
    case stream(AsyncStream<Event>.Continuation)
    case tap(@Sendable (Event) -> Void)
  }

  private let destination: Destination
  private let isClosed = Atomic(false)
  private let state = LockBox(State())

  private init(_ destination: Destination) {
    self.destination = destination
  }

  deinit {
    if case .stream(let continuation) = destination { continuation.finish() }
  }

  /// Makes a feed without a stream. It calls a closure with each event, on the thread that puts the
  /// event, and that thread waits for the closure. So no events are kept for a slow reader.
  ///
  /// Threads that put events at the same time call the closure at the same time. `end()` does
  /// nothing, because more events may follow what ends a stream, such as a run of a workflow.
  package convenience init(tap: @escaping @Sendable (Event) -> Void) {
    self.init(.tap(tap))
  }

  /// Stops calling the closure of a tap.
  package func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

  /// Makes a stream and its feed.
  package static func makeStream(bufferingPolicy: BufferingPolicy) -> (stream: AsyncStream<Event>, feed: EventFeed) {
    let (numbered, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: bufferingPolicy)
    let reading = Reading()
    // `AsyncStream` itself does not tell the reader which events it drops.
    let stream = AsyncStream<Event>(unfolding: {
      var iterator = numbered.makeAsyncIterator()
      var event = await iterator.next()
      event?.droppedCount -= reading.takenCount.add(1, ordering: .relaxed).newValue
      return event
    })
    return (stream, EventFeed(.stream(continuation)))
  }

  /// Calls `action` when the stream ends: the feed ended, or the reader was released or cancelled.
  package func whenTerminated(_ action: @escaping @Sendable () -> Void) {
    if case .stream(let continuation) = destination { continuation.onTermination = { _ in action() } }
  }

  /// Puts an event into the stream. May be called by several threads.
  package func put(_ event: Event) {
    add(event)
  }

  /// Ends the stream after the events that were put into it.
  package func end() {
    add(nil)
  }

  private func add(_ event: Event?) {
    switch destination {
    case .tap(let tap):
      if let event, !isClosed.load(ordering: .sequentiallyConsistent) { runUserCode { tap(event) } }
    case .stream(let continuation): add(event, to: continuation)
    }
  }

  private func add(_ event: Event?, to continuation: AsyncStream<Event>.Continuation) {
    guard state.withLock({ $0.enqueue(event) }) else { return }
    while let batch = state.withLock({ $0.outbox.nextDelivery() }) {
      for next in batch {
        if let next { continuation.yield(next) } else { continuation.finish() }
      }
    }
  }
}

/// The feeds of one object, which all receive the same events.
package struct EventFeeds<Event: CountedEvent>: Sendable {
  private var feeds: [Int: (feed: EventFeed<Event>, begin: Int)] = [:]
  private var lastNumber = 0

  package init() {}

  package var isEmpty: Bool { feeds.isEmpty }

  package var all: [EventFeed<Event>] { feeds.values.map(\.feed) }

  /// The feeds that receive an event, of an object that numbers its events.
  package func receiving(_ event: Int) -> [EventFeed<Event>] {
    feeds.values.compactMap { $0.begin < event ? $0.feed : nil }
  }

  /// Adds a feed. Returns the number to remove it with.
  ///
  /// - Parameter event: the number of the last event that is too old for the feed.
  package mutating func add(_ feed: EventFeed<Event>, after event: Int = 0) -> Int {
    lastNumber += 1
    feeds[lastNumber] = (feed, event)
    return lastNumber
  }

  /// Removes a feed. Returns it, so that the caller releases it outside the lock.
  package mutating func remove(_ number: Int) -> EventFeed<Event>? { feeds.removeValue(forKey: number)?.feed }

  /// Removes all feeds. Returns them, so that the caller releases them outside the lock.
  package mutating func removeAll() -> [EventFeed<Event>] {
    defer { feeds = [:] }
    return all
  }
}
