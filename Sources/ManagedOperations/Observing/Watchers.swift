import CompositeOperations

/// Who watches a manager: streams, and one log handler.
struct Watchers {
  struct Log: Sendable {
    let handler: @Sendable (LogMessage) -> Void
    let level: LogMessage.Level
  }

  var streams = EventFeeds<ManagedEvent>()
  var log: Log?
  /// Whether a line on standard error has said that no task is taken any more.
  var hasWarned = false

  var isEmpty: Bool { streams.isEmpty && log == nil }
}
