import CompositeOperations

/// Who listens to a queue's events.
final class EventHub: Sendable {
  private struct State {
    var streams: [Int: AsyncStream<JobEvent>.Continuation] = [:]
    var lastNumber = 0
    var isEnded = false
  }

  private let state = LockBox(State())

  /// Whether anybody listens.
  var isHeard: Bool { state.withLock { !$0.streams.isEmpty } }

  func stream(bufferingPolicy: AsyncStream<JobEvent>.Continuation.BufferingPolicy) -> AsyncStream<JobEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: JobEvent.self, bufferingPolicy: bufferingPolicy)
    let number: Int? = state.withLock { state in
      guard !state.isEnded else { return nil }
      state.lastNumber += 1
      state.streams[state.lastNumber] = continuation
      return state.lastNumber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      let removed = self?.state.withLock { $0.streams.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
    return stream
  }

  func tell(_ event: @autoclosure () -> JobEvent) {
    let streams = state.withLock { Array($0.streams.values) }
    guard !streams.isEmpty else { return }
    let event = event()
    for stream in streams { stream.yield(event) }
  }

  func end() {
    let streams = state.withLock { state in
      state.isEnded = true
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams { stream.finish() }
  }
}
