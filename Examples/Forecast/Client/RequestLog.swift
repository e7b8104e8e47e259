import CompositeOperations
import ExampleSupport
import HTTPOperations
import ManagedOperations

/// Writes a line for each event of a manager's requests.
final class RequestLog: Sendable {
  private struct State {
    /// What the requests that have not finished are for, by their ids.
    var labels: [Int: String] = [:]
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Shared(State())
  private let write: @Sendable (String) -> Void

  /// - Parameter write: takes a line, without its end.
  init(_ write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  /// Logs a manager's requests from now on.
  func follow(_ manager: OperationManager) {
    let events = manager.events(bufferingPolicy: .unbounded)
    Task { [self] in
      for await event in events { take(event) }
    }
  }

  /// Names a request that has not started yet.
  func name(_ id: Int, _ label: String) {
    state.withLock { $0.labels[id] = label }
  }

  /// Logs something that is not an event of a request.
  func tell(_ subject: String, _ text: String) {
    let gap = String(repeating: " ", count: max(1, 24 - subject.count))
    write("\(subject)\(gap)\(text)")
  }

  /// Returns when all named requests have ended and are logged.
  func finish() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if !state.labels.isEmpty { state.waiter = continuation }
        return state.labels.isEmpty
      }
      if isDone { continuation.resume() }
    }
  }

  private func take(_ event: ManagedEvent) {
    guard let label = state.withLock({ $0.labels[event.taskID] }) else { return }
    if let text = Self.text(of: event) { tell(label, text) }
    guard event.kind == .finished || event.kind == .dropped else { return }
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.labels[event.taskID] = nil
      return state.labels.isEmpty ? state.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// The text of an event; nil for events without a line.
  static func text(of event: ManagedEvent) -> String? {
    switch event.kind {
    case .held: "waits, by the rate limit"
    case .attemptStarted: event.attempt == 1 ? "is asked for" : "is asked for again"
    case .attemptEnded: event.outcome.map(text)
    case .requeued: event.delay.flatMap { $0 > .zero ? "pauses for \($0)" : nil }
    default: nil
    }
  }

  private static func text(of outcome: Outcome<any Sendable>) -> String {
    switch outcome {
    case .success(let value): "is answered with \((value as? HTTPResponse)?.status ?? 200)"
    case .failure(let error as HTTPStatusError):
      "is answered with \(error.status)" + (error.retryAfter == nil ? "" : ", to be asked for later")
    case .failure(let error): "fails: \(error)"
    case .cancelled: "is cancelled"
    }
  }
}
