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
    var isWriting = false
    var isHolding = false
    var mayHaveChanged = false

    /// Somebody paused or resumed. Returns whether the caller is the one to see to it.
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

    mutating func show(_ fraction: Double, isIndeterminate: Bool) -> Bool {
      if !isIndeterminate || fraction > 0 { isDeterminate = true }
      units = max(units, Int64(fraction * Double(FoundationProgress.unitCount)))
      guard !isWriting, next != nil else { return false }
      isWriting = true
      return true
    }

    private var next: Int64? { isDeterminate && written != units ? units : nil }

    mutating func nextToWrite() -> (units: Int64, isFirst: Bool)? {
      guard let next else {
        isWriting = false
        return nil
      }
      defer { written = next }
      return (next, written == nil)
    }
  }

  let progress: Progress
  private let state = LockBox(State())

  init(of operation: SettlingOperation) {
    // Not `Progress(totalUnitCount:)`, which may make it a child.
    progress = Progress(parent: nil, userInfo: nil)
    progress.totalUnitCount = -1
    progress.isCancellable = true
    progress.isPausable = true
    progress.cancellationHandler = { [weak operation] in operation?.cancel() }
    // Called on Linux by any thread and in any order, so neither can tell what holds now.
    progress.pausingHandler = { [weak self, weak operation] in self?.pauseDidChange(of: operation) }
    progress.resumingHandler = progress.pausingHandler
  }

  private func pauseDidChange(of operation: SettlingOperation?) {
    guard let operation, state.withLock({ $0.pauseDidChange() }) else { return }
    while state.withLock({ $0.nextPauseChange() }) { operation.progressNode().setPaused(progress.isPaused) }
  }

  func show(_ fraction: Double, isIndeterminate: Bool) {
    guard state.withLock({ $0.show(fraction, isIndeterminate: isIndeterminate) }) else { return }
    while let (units, isFirst) = state.withLock({ $0.nextToWrite() }) {
      // Its observers are the user's.
      ThreadContext.current.runUserCode {
        if isFirst { progress.totalUnitCount = FoundationProgress.unitCount }
        progress.completedUnitCount = units
      }
    }
  }
}
