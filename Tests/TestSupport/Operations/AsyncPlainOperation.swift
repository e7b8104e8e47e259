public import Foundation

/// A plain asynchronous operation as in existing programs: it does not use this package, overrides
/// `start`, `isExecuting` and `isFinished`, and continues after `start` returned until
/// ``complete()`` is called.
///
/// Started when cancelled already, it finishes at once. Cancelled while it runs, it opens
/// ``cancelRequested`` and finishes, unless it was made with `ignoresCancel`.
public final class AsyncPlainOperation: Operation, @unchecked Sendable {  // state is locked
  private struct State {
    var isExecuting = false
    var isFinished = false
  }

  private let state = Locked(State())
  private let ignoresCancel: Bool
  private let onStart: @Sendable (AsyncPlainOperation) -> Void

  /// Opens when the work starts (not when a cancelled operation is started).
  public let started = Gate()
  /// Opens at the first `cancel()`.
  public let cancelRequested = Gate()

  /// Makes an operation that calls `onStart` on the thread that starts it; it may call
  /// ``complete()`` at once.
  public init(ignoresCancel: Bool = false, onStart: @escaping @Sendable (AsyncPlainOperation) -> Void = { _ in }) {
    self.ignoresCancel = ignoresCancel
    self.onStart = onStart
    super.init()
  }

  public override var isAsynchronous: Bool { true }
  public override var isExecuting: Bool { state.withLock { $0.isExecuting } }
  public override var isFinished: Bool { state.withLock { $0.isFinished } }

  public override func start() {
    guard !isCancelled else { return complete() }
    guard beginExecuting() else { return }
    willChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isExecuting")
    started.open()
    onStart(self)
    // A cancel between the two lines above may have been too early to complete it.
    if isCancelled, !ignoresCancel { complete() }
  }

  public override func cancel() {
    super.cancel()
    cancelRequested.open()
    if !ignoresCancel, isExecuting { complete() }
  }

  /// Finishes the operation and announces it. Later calls do nothing.
  public func complete() {
    let isFirst = state.withLock { state in
      defer { state = State(isExecuting: false, isFinished: true) }
      return !state.isFinished
    }
    guard isFirst else { return }
    willChangeValue(forKey: "isFinished")
    didChangeValue(forKey: "isFinished")
  }

  /// Returns false if it was finished before it was started.
  private func beginExecuting() -> Bool {
    state.withLock { state in
      guard !state.isFinished else { return false }
      state.isExecuting = true
      return true
    }
  }
}
