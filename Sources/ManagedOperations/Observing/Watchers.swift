import CompositeOperations

/// Who watches a manager: streams, and one log handler.
struct Watchers {
  struct Log: Sendable {
    let handler: @Sendable (LogMessage) -> Void
    let level: LogMessage.Level
  }

  var streams = EventFeeds<ManagedEvent>()
  var log: Log?

  var isEmpty: Bool { streams.isEmpty && log == nil }
}
