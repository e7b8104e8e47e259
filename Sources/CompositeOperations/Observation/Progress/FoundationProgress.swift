import Foundation

/// A `Progress` that shows how far an operation is.
///
/// It has neither children nor a parent: on Linux `Progress` is not made for several threads, and linking it may destroy
/// the heap. What is to be shown goes through here, so that one thread at a time writes, and never less than before.
final class FoundationProgress: Sendable {
  private static let unitCount: Int64 = 10_000

  private struct State {
    var units: Int64 = 0
    /// What has been written; nil as long as the progress is indeterminate.
    var written: Int64?
    var isDeterminate = false
    var end = End.none
    var isCancelled = false
    var isWriting = false

    /// The user cancelled. Returns whether the operation has to be: once, and not when it is over, for a subclass may
    /// override its `cancel()`.
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

    /// The operation has settled otherwise than with a success.
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

  /// Whether the progress is cancelled because the operation is over.
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
    // Foundation calls these some time later, on any thread and in any order. They are for a change that reaches the progress
    // from a parent: its own `cancel()`, `pause()` and `resume()` do not leave it to them.
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

  /// Whether the caller is the one to cancel the operation: true once.
  private func mayCancel() -> Bool { state.withLock { $0.cancel() } }

  private func pauseMayHaveChanged(of operation: SettlingOperation?) {
    guard let node = operation?.progressNode() else { return }
    // In this order: what `pause()` or `resume()` has set since then is right, and not what was read here. While one is under
    // way it is that which decides.
    let revision = node.pauseRevision
    if !ownProgress.isChanging { node.setPaused(progress.isPaused, ifStillAt: revision) }
  }

  func show(_ fraction: Double, isIndeterminate: Bool) {
    if state.withLock({ $0.show(fraction, isIndeterminate: isIndeterminate) }) { write() }
  }

  /// The operation has failed or was cancelled: nothing else tells an interface that knows the progress alone.
  func endUnsuccessfully() {
    if state.withLock({ $0.endUnsuccessfully() }) { write() }
  }

  private func write() {
    while let next = state.withLock({ $0.nextToWrite() }) {
      // Its observers are the user's.
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
