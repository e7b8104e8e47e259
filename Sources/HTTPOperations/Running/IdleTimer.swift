#if canImport(FoundationNetworking)
import CompositeOperations
import Foundation
import FoundationNetworking

/// Says when a hop has neither sent nor received anything for as long as it may.
///
/// Foundation's own timer cannot be used: see URLSessionDifferences.swift. libcurl has none for this.
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

  /// Nil if the hop may wait for as long as it likes.
  ///
  /// - Parameter sessionTimeout: what holds for requests that were given no time of their own.
  convenience init?(for request: URLRequest, sessionTimeout: TimeInterval) {
    // A request does not tell whether its timeout was set; that of one whose was not is this one.
    let seconds = request.timeoutInterval == 60 ? sessionTimeout : request.timeoutInterval
    guard seconds < .endless else { return nil }
    self.init(limit: .seconds(max(0, seconds)), clock: .of(ContinuousClock()))
  }

  /// Starts to wait. `whenOver` is called on a worker, once at most, and not any more when the timer was stopped.
  func start(_ whenOver: @escaping @Sendable () -> Void) {
    restart()
    setTimer(whenOver)
  }

  /// Something was sent or received.
  func restart() {
    let end = clock.now + limit
    // The timer stays as it is, and looks at the time when it rings: this comes for every piece of a body.
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
