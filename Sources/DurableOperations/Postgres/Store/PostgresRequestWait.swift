#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// Waits, without a thread, for requests to cancel something, which may get no answer.
final class PostgresRequestWait: Sendable {
  private struct State {
    /// Nil once it was called.
    var body: (@Sendable () -> Void)?
    var timers: [DispatchWorkItem] = []
  }

  /// A serial queue gets a thread even if jobs have all threads of the pool: they may run until
  /// they are cancelled, which comes after this wait.
  private let queue = DispatchQueue(label: "DurableOperations.postgres.requests", qos: .userInitiated)
  private let state: LockBox<State>
  /// The end of a short wait: a request that gets through takes no second.
  private let shortEnd = DispatchTime.now() + .seconds(1)

  /// - Parameter body: called once, when the wait is over, on a thread that it may block.
  init(then body: @escaping @Sendable () -> Void) {
    state = LockBox(State(body: body))
  }

  /// Begins the wait, which is over when the requests have ended, or their limit has passed.
  func begin(for requests: DispatchGroup, until limit: PostgresDeadline) {
    setTimer(at: .now() + .milliseconds(Int(limit.milliseconds))) { [self] in end() }
    requests.notify(queue: queue) { [self] in end() }
  }

  /// Ends the wait a second after it was made, if that is still wanted then. May be called inside
  /// of a lock.
  func endSoon(if isWanted: @escaping @Sendable () -> Bool) {
    setTimer(at: shortEnd) { [self] in
      if isWanted() { end() }
    }
  }

  private func setTimer(at time: DispatchTime, _ action: @escaping @Sendable () -> Void) {
    let timer = DispatchWorkItem(block: action)
    let isOver = state.withLock { state -> Bool in
      if state.body == nil { return true }
      state.timers.append(timer)
      return false
    }
    if !isOver { queue.asyncAfter(deadline: time, execute: timer) }
  }

  private func end() {
    let (body, timers) = state.withLock { state -> ((@Sendable () -> Void)?, [DispatchWorkItem]) in
      let timers = state.timers
      state.timers = []
      return (state.body.take(), timers)
    }
    for timer in timers { timer.cancel() }
    if let body { queue.async(execute: body) }
  }
}
#endif
