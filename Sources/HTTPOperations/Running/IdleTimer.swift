#if canImport(FoundationNetworking)
import CompositeOperations
import Foundation
import FoundationNetworking

/// Reports when a hop has neither sent nor received anything for its idle time.
///
/// Foundation's own timer cannot be used: see URLSessionDifferences.swift. libcurl does not have
/// one.
final class IdleTimer: Sendable {
  private struct State {
    var timer: Timekeeper.Timer?
    var end: Timekeeper.Time
    var isStopped = false
  }

  let limit: Duration
  private let clock: Timekeeper
  private let state: LockBox<State>

  init(limit: Duration, clock: Timekeeper) {
    self.limit = limit
    self.clock = clock
    state = LockBox(State(end: clock.now + limit))
  }

  /// Nil if the idle time is not limited.
  ///
  /// - Parameter sessionTimeout: the timeout for requests without their own.
  convenience init?(for request: URLRequest, sessionTimeout: TimeInterval) {
    // A request does not say whether its timeout was set. This is the default.
    let seconds = request.timeoutInterval == 60 ? sessionTimeout : request.timeoutInterval
    guard seconds < .endless else { return nil }
    self.init(limit: .seconds(max(0, seconds)), clock: .of(ContinuousClock()))
  }

  /// Starts to wait. `whenOver` is called on a worker, once at most, and not after `stop()`.
  func start(_ whenOver: @escaping @Sendable () -> Void) {
    restart()
    setTimer(whenOver)
  }

  /// Something was sent or received.
  func restart() {
    let end = clock.now + limit
    // The timer stays as it is, and checks the time when it rings: this is called for each piece of
    // a body.
    state.withLock { $0.end = end }
  }

  /// The hop has ended.
  func stop() {
    let timer = state.withLock { state in
      state.isStopped = true
      return state.timer.take()
    }
    if let timer { clock.cancel(timer) }
  }

  private func setTimer(_ whenOver: @escaping @Sendable () -> Void) {
    let timer = clock.at(state.withLock { $0.end }) { [weak self] in self?.ring(whenOver) }
    let isStopped = state.withLock { state in
      if !state.isStopped { state.timer = timer }
      return state.isStopped
    }
    if isStopped { clock.cancel(timer) }
  }

  private func ring(_ whenOver: @escaping @Sendable () -> Void) {
    let now = clock.now
    let isEarly = state.withLock { state -> Bool? in
      if state.isStopped { return nil }
      state.isStopped = now >= state.end
      return !state.isStopped
    }
    switch isEarly {
    case true?: setTimer(whenOver)
    case false?: whenOver()
    case nil: break
    }
  }
}

extension URLRequest {
  var withoutTimeout: URLRequest {
    var request = self
    request.timeoutInterval = .endless
    return request
  }
}
#endif
