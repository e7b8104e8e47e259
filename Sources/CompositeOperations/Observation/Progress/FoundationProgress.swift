import Foundation

/// The progress of an operation as a `Progress`.
///
/// It has neither children nor a parent. On Linux a `Progress` is not thread-safe, and linking it
/// may corrupt the heap. All writes go through this class, so that one thread at a time writes, and
/// no write is lower than the one before.
final class FoundationProgress: Progress, @unchecked Sendable {  // locked; the weak reference is set once
  private static let unitCount: Int64 = 10_000

  private struct State {
    var units: Int64 = 0
    /// The units that were written; nil while the progress is indeterminate.
    var written: Int64?
    var isDeterminate = false
    var end = End.none
    var isCancelled = false
    var isWriting = false

    /// Records that the user cancelled. Returns whether the caller must cancel the operation: true
    /// once, unless the operation has ended. Only once, because a subclass may override `cancel()`.
    mutating func cancel() -> Bool {
      guard end == .none, !isCancelled else { return false }
      isCancelled = true
      return true
    }

    mutating func show(_ fraction: Double, isIndeterminate: Bool) -> Bool {
      if !isIndeterminate || fraction > 0 { isDeterminate = true }
      units = max(units, Int64(fraction * Double(FoundationProgress.unitCount)))
      return beginWriting()
    }

    /// Records that the operation failed or was cancelled.
    mutating func endUnsuccessfully() -> Bool {
      guard end == .none else { return false }
      end = .due
      return beginWriting()
    }

    private mutating func beginWriting() -> Bool {
      defer { isWriting = true }
      return !isWriting
    }

    mutating func nextToWrite() -> Write? {
      if isDeterminate, written != units {
        defer { written = units }
        return .units(units, isFirst: written == nil)
      }
      isWriting = end == .due
      guard isWriting else { return nil }
      end = .written
      return .cancel
    }
  }

  /// Whether the progress must be cancelled, or was cancelled, because the operation has failed or
  /// was cancelled.
  private enum End {
    case none, due, written
  }

  private enum Write {
    case units(Int64, isFirst: Bool)
    case cancel
  }

  private weak var operation: SettlingOperation?
  private let state = LockBox(State())

  init(of operation: SettlingOperation) {
    self.operation = operation
    // Not `Progress(totalUnitCount:)`, which may make it a child.
    super.init(parent: nil, userInfo: nil)
    totalUnitCount = -1
    isCancellable = true
    // For a cancel that comes from a parent progress. Foundation calls it later, on any thread.
    cancellationHandler = { @Sendable [weak self] in
      if let self, self.state.withLock({ $0.cancel() }) { self.operation?.cancel() }
    }
  }

  /// Cancels the operation before it returns. Foundation's own method returns before another thread
  /// calls the handler.
  override func cancel() {
    // Before Foundation calls the handler, which could be first and might still run at the return.
    let isFirst = state.withLock { $0.cancel() }
    super.cancel()
    if isFirst { operation?.cancel() }
  }

  func show(_ fraction: Double, isIndeterminate: Bool) {
    if state.withLock({ $0.show(fraction, isIndeterminate: isIndeterminate) }) { write() }
  }

  /// Cancels the progress of an operation that failed or was cancelled. Code that knows only the
  /// progress has no other sign of that.
  func endUnsuccessfully() {
    if state.withLock({ $0.endUnsuccessfully() }) { write() }
  }

  private func write() {
    while let next = state.withLock({ $0.nextToWrite() }) {
      // Observers of the progress are user code, which sees no task-local values.
      ThreadContext.current.runUserCode(in: nil) {
        switch next {
        case .units(let units, let isFirst):
          if isFirst { totalUnitCount = FoundationProgress.unitCount }
          completedUnitCount = units
        case .cancel:
          if !isCancelled { cancel() }
        }
      }
    }
  }
}
