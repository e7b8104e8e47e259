/// Who watches a manager: streams, and one log handler.
struct Watchers {
  struct Stream: Sendable {
    let continuation: AsyncStream<ManagedEvent>.Continuation
    var droppedCount = 0
  }

  struct Log: Sendable {
    let handler: @Sendable (LogMessage) -> Void
    let level: LogMessage.Level
  }

  private(set) var streams: [Int: Stream] = [:]
  private var lastStream = 0
  var log: Log?

  var isEmpty: Bool { streams.isEmpty && log == nil }

  var continuations: [AsyncStream<ManagedEvent>.Continuation] { streams.values.map(\.continuation) }

  mutating func add(_ continuation: AsyncStream<ManagedEvent>.Continuation) -> Int {
    lastStream += 1
    streams[lastStream] = Stream(continuation: continuation)
    return lastStream
  }

  mutating func remove(_ number: Int) -> Stream? { streams.removeValue(forKey: number) }

  mutating func dropped(_ number: Int) { streams[number]?.droppedCount += 1 }
}
