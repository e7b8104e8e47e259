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
    var isHolding = false
    var mayHaveChanged = false

    /// The user paused or resumed. Returns whether the caller is the one to see to it.
    mutating func pauseDidChange() -> Bool {
      mayHaveChanged = true
      defer { isHolding = true }
      return !isHolding
    }

    /// Returns whether there is something to see to; if not, the next change is another caller's.
    mutating func nextPauseChange() -> Bool {
      isHolding = mayHaveChanged
      mayHaveChanged = false
      return isHolding
    }

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

  let progress: Progress
  private let state = LockBox(State())

  init(of operation: SettlingOperation) {
    let progress = OperationProgress(totalUnits: -1)
    self.progress = progress
    progress.isCancellable = true
    progress.isPausable = true
    let cancels = { @Sendable [weak self, weak operation] () -> Void in self?.cancelDidChange(of: operation) }
    // Neither can tell what holds now: handlers are called by any thread and in any order.
    let pauses = { @Sendable [weak self, weak operation] () -> Void in self?.pauseDidChange(of: operation) }
    // Foundation calls the handlers some time later; they are for a change that reaches the progress from a parent.
    progress.cancellationHandler = cancels
    progress.pausingHandler = pauses
    progress.resumingHandler = pauses
    progress.setActions(whenCancelled: cancels, whenPausedOrResumed: pauses)
  }

  private func cancelDidChange(of operation: SettlingOperation?) {
    if state.withLock({ $0.cancel() }) { operation?.cancel() }
  }

  private func pauseDidChange(of operation: SettlingOperation?) {
    guard let operation, state.withLock({ $0.pauseDidChange() }) else { return }
    while state.withLock({ $0.nextPauseChange() }) { operation.progressNode().setPaused(progress.isPaused) }
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
