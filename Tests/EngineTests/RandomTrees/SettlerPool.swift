import Foundation
import TestSupport

/// Runs jobs later, on other threads, so that operations of a tree take time without sleeping.
final class SettlerPool: Sendable {
  private struct State {
    var random: SeededRandomNumberGenerator
    var drawable: [@Sendable () -> Void] = []
    var unfinished = 0
    var idle: [@Sendable () -> Void] = []
  }

  private let state: Locked<State>

  init(seed: UInt64) {
    state = Locked(State(random: SeededRandomNumberGenerator(seed: ~seed)))
  }

  /// Runs `job` after this many trips through a dispatch queue, at least one.
  func run(afterHops hops: Int, _ job: @escaping @Sendable () -> Void) {
    state.withLock { $0.unfinished += 1 }
    hop(hops) {
      job()
      self.ended()
    }
  }

  /// Runs `job`, or another waiting one, on another thread. Each waiting job runs in the end.
  func runWhenDrawn(_ job: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.unfinished += 1
      state.drawable.append(job)
    }
    hop(2) {
      let drawn = self.state.withLock { state in
        state.drawable.remove(at: state.random.number(0...state.drawable.count - 1))
      }
      drawn()
      self.ended()
    }
  }

  /// Waits until no job is left.
  func drained() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.unfinished > 0 { state.idle.append { continuation.resume() } }
        return state.unfinished == 0
      }
      if isIdle { continuation.resume() }
    }
  }

  private func hop(_ hops: Int, _ job: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async {
      if hops > 1 { self.hop(hops - 1, job) } else { job() }
    }
  }

  private func ended() {
    let idle = state.withLock { state in
      state.unfinished -= 1
      guard state.unfinished == 0 else { return [@Sendable () -> Void]() }
      defer { state.idle = [] }
      return state.idle
    }
    for resume in idle { resume() }
  }
}
