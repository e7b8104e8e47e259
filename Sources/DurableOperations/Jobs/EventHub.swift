import CompositeOperations

/// The listeners of a queue's events.
final class EventHub: Sendable {
  private struct State {
    var streams = EventFeeds<JobEvent>()
    var isEnded = false
    /// The numbers of the reports under way.
    var reports: Set<Int> = []
    var lastReport = 0
    /// What waits for the reports that were under way when it came.
    var waiting: [(reports: Set<Int>, action: @Sendable () -> Void)] = []

    mutating func beginReport() -> Int {
      lastReport += 1
      reports.insert(lastReport)
      return lastReport
    }

    /// Returns what waits no longer.
    mutating func endReport(_ number: Int) -> [@Sendable () -> Void] {
      reports.remove(number)
      for index in waiting.indices { waiting[index].reports.remove(number) }
      defer { waiting.removeAll(where: \.reports.isEmpty) }
      return waiting.filter(\.reports.isEmpty).map(\.action)
    }
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
    let listeners = state.withLock { state in
      state.streams.isEmpty ? nil : (streams: state.streams.all, report: state.beginReport())
    }
    guard let listeners else { return }
    let event = JobEvent(event())
    // Jobs have no task-local values, and sinks see none of who causes an event.
    OperationContext.bindNone { for stream in listeners.streams { stream.put(event) } }
    endReport(listeners.report)
  }

  /// Reports an event to the log handler, even if no stream of events is read.
  func report(_ event: JobEvent.Content) {
    let report = beginReport()
    OperationContext.bindNone { log?(JobEvent(event)) }
    tell(event)
    endReport(report)
  }

  // MARK: - Waiting for listeners

  /// Begins a report: before others can see the change that will be reported.
  func beginReport() -> Int { state.withLock { $0.beginReport() } }

  func endReport(_ number: Int) {
    for action in state.withLock({ $0.endReport(number) }) { action() }
  }

  /// Calls `action` when the reports under way have ended: their listeners have returned, and their
  /// events are in the streams. At once if there is none.
  func afterReports(_ action: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if !state.reports.isEmpty { state.waiting.append((state.reports, action)) }
      return state.reports.isEmpty
    }
    if isNow { action() }
  }

  func end() {
    let streams = state.withLock { state in
      state.isEnded = true
      return state.streams.removeAll()
    }
    for stream in streams { stream.end() }
  }
}
