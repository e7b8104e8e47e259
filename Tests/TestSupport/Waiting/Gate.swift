import Foundation

/// A door that is closed until somebody opens it, and stays open from then on.
///
/// Tests use gates where others would sleep: the code under test waits at the gate, or opens it to say that it came by.
/// There are four ways to wait, and any number of waiters of each kind:
///
/// - ``wait()`` suspends the task, whether it is cancelled or not;
/// - ``waitUnlessCancelled()`` suspends the task and throws `CancellationError` when it is cancelled;
/// - ``whenOpen(_:)`` calls back;
/// - ``waitBlocking()`` blocks the thread, for bodies that must block.
public final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var nextToken = 0
    var callbacks: [(token: Int, body: @Sendable () -> Void)] = []
  }

  private let state: Locked<State>

  /// Makes a gate, closed unless told otherwise.
  public init(isOpen: Bool = false) {
    state = Locked(State(isOpen: isOpen))
  }

  /// Whether the gate was opened.
  public var isOpen: Bool {
    state.withLock { $0.isOpen }
  }

  /// Opens the gate and lets everyone through, in the order in which they came. Opening it again does nothing.
  ///
  /// Callbacks run on the calling thread, under no lock, before this returns.
  public func open() {
    let callbacks = state.withLock { state in
      state.isOpen = true
      defer { state.callbacks = [] }
      return state.callbacks
    }
    for callback in callbacks { callback.body() }
  }

  /// Calls `body` once, when the gate opens: at once, on this thread, if it is open already.
  public func whenOpen(_ body: @escaping @Sendable () -> Void) {
    _ = register(body)
  }

  /// Suspends the task until the gate is open. Cancelling the task does not end the wait.
  public func wait() async {
    await withCheckedContinuation { continuation in
      whenOpen { continuation.resume() }
    }
  }

  /// Suspends the task until the gate is open, or throws `CancellationError` as soon as the task is cancelled.
  public func waitUnlessCancelled() async throws {
    let cancelled = Gate()
    await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let isFirst = Locked(true)
        let resume: @Sendable () -> Void = {
          let resumes = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
          }
          if resumes { continuation.resume() }
        }
        cancelled.whenOpen(resume)
        let token = register(resume)
        cancelled.whenOpen { self.forget(token) }
      }
    } onCancel: {
      cancelled.open()
    }
    if !isOpen { try Task.checkCancellation() }
  }

  /// Blocks the calling thread until the gate is open.
  ///
  /// Only for bodies that are meant to block, such as children that wait for each other. Never call it from async code.
  @available(*, noasync)
  public func waitBlocking() {
    let condition = NSCondition()
    let passed = Locked(false)
    whenOpen {
      condition.lock()
      passed.withLock { $0 = true }
      condition.broadcast()
      condition.unlock()
    }
    condition.lock()
    while !passed.current { condition.wait() }
    condition.unlock()
  }

  /// Keeps `body` until the gate opens, or calls it at once. Returns a token by which to forget it.
  private func register(_ body: @escaping @Sendable () -> Void) -> Int? {
    let token: Int? = state.withLock { state in
      guard !state.isOpen else { return nil }
      state.nextToken += 1
      state.callbacks.append((state.nextToken, body))
      return state.nextToken
    }
    if token == nil { body() }
    return token
  }

  private func forget(_ token: Int?) {
    state.withLock { state in state.callbacks.removeAll { $0.token == token } }
  }
}
