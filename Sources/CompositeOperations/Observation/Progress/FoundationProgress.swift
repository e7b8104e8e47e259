import Foundation

/// Shows the progress of an operation in a `Progress`.
///
/// The `Progress` has neither children nor a parent. On Linux it is not thread-safe, and linking it
/// may corrupt the heap. All writes go through this class, so that one thread at a time writes, and
/// no write is lower than the one before.
final class FoundationProgress: Sendable {
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
      guard !isWriting, next != nil else { return false }
      isWriting = true
      return true
    }

    private var next: Write? {
      if isDeterminate, written != units { return .units(units, isFirst: written == nil) }
      return end == .due ? .cancel : nil
    }

    mutating func nextToWrite() -> Write? {
      let next = next
      switch next {
      case .units(let units, _): written = units
      case .cancel: end = .written
      case nil: isWriting = false
      }
      return next
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

  private let ownProgress: OperationProgress
  private let state = LockBox(State())

  init(of operation: SettlingOperation) {
    let progress = OperationProgress(totalUnits: -1)
    ownProgress = progress
    progress.isCancellable = true
    progress.isPausable = true
    // Foundation calls these later, on any thread and in any order. They serve changes that come
    // from a parent progress. The progress's own `cancel()`, `pause()` and `resume()` do not rely
    // on them.
    let pauses = { @Sendable [weak self, weak operation] () -> Void in self?.pauseMayHaveChanged(of: operation) }
    progress.cancellationHandler = { @Sendable [weak self, weak operation] in
      if self?.mayCancel() == true { operation?.cancel() }
    }
    progress.pausingHandler = pauses
    progress.resumingHandler = pauses
    progress.setActions(
      mayCancel: { [weak self] in self?.mayCancel() == true },
      whenCancelled: { [weak operation] in operation?.cancel() },
      whenPausedOrResumed: { [weak operation] in operation?.progressNode().setPaused($0) },
      whenItMayHaveChanged: pauses)
  }

  var progress: Progress { ownProgress }

  /// Returns whether the caller must cancel the operation, which is true at most once.
  private func mayCancel() -> Bool { state.withLock { $0.cancel() } }

  private func pauseMayHaveChanged(of operation: SettlingOperation?) {
    guard let node = operation?.progressNode() else { return }
    // In this order: a `pause()` or `resume()` after the revision was read takes precedence over
    // the value that is read here. A call that is under way decides by itself.
    let revision = node.pauseRevision
    if !ownProgress.isChanging { node.setPaused(progress.isPaused, ifStillAt: revision) }
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
      // Observers of the progress are user code.
      ThreadContext.current.runUserCode {
        switch next {
        case .units(let units, let isFirst):
          if isFirst { progress.totalUnitCount = FoundationProgress.unitCount }
          progress.completedUnitCount = units
        case .cancel:
          if !progress.isCancelled { progress.cancel() }
        }
      }
    }
  }
}
