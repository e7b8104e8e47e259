#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// A result for which a thread or a task waits. It arrives once, before or after the wait begins.
final class PostgresReply<Value: Sendable>: Sendable {
  private enum State {
    case empty
    case awaited(CheckedContinuation<Void, Never>)
    case given(Result<Value, any Error>)
  }

  private let state = LockBox(State.empty)
  private let thread = DispatchGroup()

  init() {
    thread.enter()
  }

  deinit {
    // A group that was entered must not be released.
    if case .given = state.withLock({ $0 }) { return }
    thread.leave()
  }

  func give(_ result: Result<Value, any Error>) {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      switch state {
      case .empty:
        state = .given(result)
        return nil
      case .awaited(let continuation):
        state = .given(result)
        return continuation
      case .given: preconditionFailure("A result is given twice to one that waits for a connection of PostgreSQL")
      }
    }
    thread.leave()
    waiter?.resume()
  }

  /// Blocks the thread of the caller until the result arrives.
  func wait() throws -> Value {
    thread.wait()
    return try take()
  }

  /// Suspends the task until the result arrives.
  func value() async throws -> Value {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if case .given = state { return true }
        state = .awaited(continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
    return try take()
  }

  private func take() throws -> Value {
    let given: Result<Value, any Error>? = state.withLock { state in
      if case .given(let result) = state { result } else { nil }
    }
    guard let given else { preconditionFailure("One that waits for a connection of PostgreSQL goes on without it") }
    return try given.get()
  }
}
#endif
