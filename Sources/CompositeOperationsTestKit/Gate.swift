import CompositeOperations

/// A door that is closed until somebody opens it.
///
/// Tests use gates where others would sleep: the code under test waits at the gate, or opens it to say that it came by.
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
/// It stays open until somebody closes it. All of it may be used from any thread, and by any number of tasks at once.
public final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var lastToken = 0
    var callbacks: [(token: Int, body: @Sendable () -> Void)] = []
  }

  private let state: LockBox<State>

  /// Makes a gate, closed unless told otherwise.
  public init(isOpen: Bool = false) {
    state = LockBox(State(isOpen: isOpen))
  }

  /// Whether the gate is open.
  public var isOpen: Bool {
    state.withLock { $0.isOpen }
  }

  /// Opens the gate and lets everyone through, in the order in which they came. Opening an open gate does nothing.
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

  /// Closes the gate: whoever comes from now on waits until it is opened again. Who is through stays through.
  public func close() {
    state.withLock { $0.isOpen = false }
  }

  /// Calls `body` once, when the gate is open: at once, on this thread, if it is now; else on the thread that opens it.
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
  /// - Throws: `CancellationError` as soon as the task is cancelled, unless the gate was opened before.
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

  /// A continuation that is resumed before its task has begun to wait does not tell ThreadSanitizer that whoever opened the gate
  /// came first. The lock does.
  private func awaitOpener() {
    state.withLock { _ in }
  }

  /// How many callbacks it keeps, with all that they keep.
  package var waitingCount: Int { state.withLock { $0.callbacks.count } }

  /// Keeps `body` until the gate opens, or calls it at once. Returns a token by which to forget it.
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

  /// Releases a callback that is not needed any more; otherwise a gate that never opens keeps it as long as it lives.
  package func forget(_ token: Int?) {
    let forgotten = state.withLock { state in
      state.callbacks.firstIndex { $0.token == token }.map { state.callbacks.remove(at: $0) }
    }
    withExtendedLifetime(forgotten) {}
  }
}
