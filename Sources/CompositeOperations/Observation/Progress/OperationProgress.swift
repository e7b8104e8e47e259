import Foundation
import Synchronization

/// A `Progress` whose `cancel()`, `pause()` and `resume()` take effect before they return.
///
/// Those of Foundation return before the handlers are called on another thread, so children could
/// start in between.
final class OperationProgress: Progress, @unchecked Sendable {  // the actions are set once, before it is handed out
  private var mayCancel: @Sendable () -> Bool = { false }
  private var whenCancelled: @Sendable () -> Void = {}
  private var whenPausedOrResumed: @Sendable (_ isPaused: Bool) -> Void = { _ in }
  private var whenItMayHaveChanged: @Sendable () -> Void = {}
  private let changes = Atomic(0)

  init(totalUnits: Int64) {
    // Not `Progress(totalUnitCount:)`, which may make it a child.
    super.init(parent: nil, userInfo: nil)
    totalUnitCount = totalUnits
  }

  /// - Parameter mayCancel: whether the caller must cancel. Called before Foundation calls its
  ///   handler on another thread, which would otherwise be first and might not be done when
  ///   `cancel()` returns.
  func setActions(
    mayCancel: @escaping @Sendable () -> Bool, whenCancelled: @escaping @Sendable () -> Void,
    whenPausedOrResumed: @escaping @Sendable (_ isPaused: Bool) -> Void,
    whenItMayHaveChanged: @escaping @Sendable () -> Void
  ) {
    self.mayCancel = mayCancel
    self.whenCancelled = whenCancelled
    self.whenPausedOrResumed = whenPausedOrResumed
    self.whenItMayHaveChanged = whenItMayHaveChanged
  }

  override func cancel() {
    let isFirst = mayCancel()
    super.cancel()
    if isFirst { whenCancelled() }
  }

  /// Whether a call of `pause()` or `resume()` is under way: it takes effect before `isPaused`
  /// changes.
  var isChanging: Bool { changes.load(ordering: .sequentiallyConsistent) > 0 }

  override func pause() {
    change(to: true) { super.pause() }
  }

  override func resume() {
    change(to: false) { super.resume() }
  }

  private func change(to isPaused: Bool, _ change: () -> Void) {
    changes.add(1, ordering: .sequentiallyConsistent)
    // First: Foundation's handler, on another thread, might still be running when this returns.
    whenPausedOrResumed(isPaused)
    change()
    changes.subtract(1, ordering: .sequentiallyConsistent)
    // Of two concurrent calls, the one that Foundation takes as the last wins.
    whenItMayHaveChanged()
  }
}
