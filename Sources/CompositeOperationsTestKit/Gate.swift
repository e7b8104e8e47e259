import CompositeOperations

/// A door that is closed until it is opened.
///
/// Tests use gates instead of sleeping: the code under test waits at a gate, or opens one to say
/// how far it has come.
///
/// ```swift
/// let started = Gate(), release = Gate()
/// let operation = AsyncOperation {
///   started.open()
///   try await release.waitUnlessCancelled()
///   return 7
/// }
/// ```
///
/// An open gate stays open until ``close()``. All members may be used from any thread, and by any
/// number of tasks at once.
public final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var lastToken = 0
    var callbacks: [(token: Int, body: @Sendable () -> Void)] = []
  }

  private let state: LockBox<State>

  /// Makes a gate, which is closed by default.
  public init(isOpen: Bool = false) {
    state = LockBox(State(isOpen: isOpen))
  }

  /// Whether the gate is open.
  public var isOpen: Bool {
    state.withLock { $0.isOpen }
  }

  /// Opens the gate for all that wait, in the order in which they came. Opening an open gate does
  /// nothing.
  ///
  /// Callbacks run on the calling thread, outside of all locks, before this returns.
  public func open() {
    let callbacks = state.withLock { state in
      state.isOpen = true
      defer { state.callbacks = [] }
      return state.callbacks
    }
    for callback in callbacks { callback.body() }
  }

  /// Closes the gate. Tasks that come from now on wait until it is opened again; earlier ones are
  /// not affected.
  public func close() {
    state.withLock { $0.isOpen = false }
  }

  /// Calls `body` once: at once, on this thread, if the gate is open, else on the thread that opens
  /// it.
  public func whenOpen(_ body: @escaping @Sendable () -> Void) {
    _ = register(body)
  }

  /// Suspends the task until the gate is open. Cancelling the task does not end the wait.
  public func wait() async {
    await withCheckedContinuation { continuation in
      whenOpen { continuation.resume() }
    }
    awaitOpener()
  }

  /// Suspends the task until the gate is open.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled, unless the gate was opened
  ///   before.
  public func waitUnlessCancelled() async throws {
    let (cancelled, ended) = (Gate(), LockBox<Bool?>(nil))
    let passed = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        let end: @Sendable (Bool) -> Void = { passed in
          let isFirst = ended.withLock { ended in
            defer { ended = ended ?? passed }
            return ended == nil
          }
          if isFirst { continuation.resume(returning: passed) }
        }
        let token = register { end(true) }
        cancelled.whenOpen {
          self.forget(token)
          end(false)
        }
      }
    } onCancel: {
      cancelled.open()
    }
    awaitOpener()
    if !passed { throw CancellationError() }
  }

  /// A continuation that is resumed before its task has begun to wait does not tell ThreadSanitizer
  /// that the opening of the gate came first. The lock does.
  private func awaitOpener() {
    state.withLock { _ in }
  }

  /// The number of callbacks that it retains.
  package var waitingCount: Int { state.withLock { $0.callbacks.count } }

  /// Retains `body` until the gate opens, or calls it at once. Returns a token to forget it by.
  package func register(_ body: @escaping @Sendable () -> Void) -> Int? {
    let token: Int? = state.withLock { state in
      guard !state.isOpen else { return nil }
      state.lastToken += 1
      state.callbacks.append((state.lastToken, body))
      return state.lastToken
    }
    if token == nil { body() }
    return token
  }

  /// Releases a callback that is no longer needed, which a gate that never opens would retain for
  /// its lifetime.
  package func forget(_ token: Int?) {
    let forgotten = state.withLock { state in
      state.callbacks.firstIndex { $0.token == token }.map { state.callbacks.remove(at: $0) }
    }
    withExtendedLifetime(forgotten) {}
  }
}
