public import CompositeOperations
public import Foundation

/// A user's own operation with an outcome: a subclass of `Operation` itself that conforms to
/// `ComposableOperation`, synchronous, using only the protocol of this package.
public final class ConformingOperation<Value: Sendable>: Operation, ComposableOperation, @unchecked Sendable {
  // `settled` is locked; `body` is immutable
  private let settled = Locked<Outcome<Value>?>(nil)
  private let body: @Sendable () -> Outcome<Value>

  /// Makes an operation whose `main` runs `body` and keeps its outcome.
  public init(_ body: @escaping @Sendable () -> Outcome<Value>) {
    self.body = body
    super.init()
  }

  public override func main() {
    let outcome = body()
    settled.withLock { $0 = outcome }
  }

  /// The outcome of `body`; `.cancelled` if the operation finished without running it.
  public var outcome: Outcome<Value>? {
    settled.current ?? (isFinished ? .cancelled : nil)
  }
}

/// The asynchronous form of ``ConformingOperation``: it continues until ``settle(_:)`` is called.
///
/// Cancelled while it runs, it opens ``cancelRequested`` and settles `.cancelled`, unless it was
/// made with `ignoresCancel`.
public final class AsyncConformingOperation<Value: Sendable>: Operation, ComposableOperation, @unchecked Sendable {
  // state is locked
  private struct State {
    var isExecuting = false
    var outcome: Outcome<Value>?
  }

  private let state = Locked(State())
  private let ignoresCancel: Bool

  /// Opens when the work starts (not when a cancelled operation is started).
  public let started = Gate()
  /// Opens at the first `cancel()`.
  public let cancelRequested = Gate()

  /// Makes an operation that waits for ``settle(_:)``.
  public init(ignoresCancel: Bool = false) {
    self.ignoresCancel = ignoresCancel
    super.init()
  }

  public override var isAsynchronous: Bool { true }
  public override var isExecuting: Bool { state.withLock { $0.isExecuting } }
  public override var isFinished: Bool { outcome != nil }

  /// The outcome of the first ``settle(_:)``.
  public var outcome: Outcome<Value>? { state.withLock { $0.outcome } }

  public override func start() {
    guard !isCancelled else { return settle(.cancelled) }
    guard beginExecuting() else { return }
    willChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isExecuting")
    started.open()
    if isCancelled, !ignoresCancel { settle(.cancelled) }
  }

  public override func cancel() {
    super.cancel()
    cancelRequested.open()
    if !ignoresCancel, isExecuting { settle(.cancelled) }
  }

  /// Finishes the operation with `outcome` and announces it. Later calls do nothing.
  public func settle(_ outcome: Outcome<Value>) {
    let isFirst = state.withLock { state in
      guard state.outcome == nil else { return false }
      state = State(isExecuting: false, outcome: outcome)
      return true
    }
    guard isFirst else { return }
    willChangeValue(forKey: "isFinished")
    didChangeValue(forKey: "isFinished")
  }

  /// Returns false if it was finished before it was started.
  private func beginExecuting() -> Bool {
    state.withLock { state in
      guard state.outcome == nil else { return false }
      state.isExecuting = true
      return true
    }
  }
}
