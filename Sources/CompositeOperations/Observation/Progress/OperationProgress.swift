import Foundation
import Synchronization

/// A `Progress` whose `cancel()`, `pause()` and `resume()` take effect before they return.
///
/// Foundation's own methods return before another thread calls the handlers, so children could
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

  /// - Parameter mayCancel: returns whether the caller must cancel. Called before Foundation calls
  ///   its handler on another thread. Otherwise the handler could be first, and might still run
  ///   when `cancel()` returns.
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

  /// Whether a call of `pause()` or `resume()` is under way. Such a call takes effect before
  /// `isPaused` changes.
  var isChanging: Bool { changes.load(ordering: .sequentiallyConsistent) > 0 }

  override func pause() {
    change(to: true) { super.pause() }
  }

  override func resume() {
    change(to: false) { super.resume() }
  }

  private func change(to isPaused: Bool, _ change: () -> Void) {
    changes.add(1, ordering: .sequentiallyConsistent)
    // This comes first, because Foundation's handler might still run on another thread when this
    // method returns.
    whenPausedOrResumed(isPaused)
    change()
    changes.subtract(1, ordering: .sequentiallyConsistent)
    // Of two concurrent calls, the one that Foundation takes as the last wins.
    whenItMayHaveChanged()
  }
}
