import Foundation

/// A `Progress` whose `cancel()`, `pause()` and `resume()` take effect before they return.
///
/// Foundation's own return before the handlers are called, on another thread, so children could start in between.
final class OperationProgress: Progress, @unchecked Sendable {  // the actions are set once, before it is handed out
  private var mayCancel: @Sendable () -> Bool = { false }
  private var whenCancelled: @Sendable () -> Void = {}
  private var whenPausedOrResumed: @Sendable (_ isPaused: Bool) -> Void = { _ in }

  init(totalUnits: Int64) {
    // Not `Progress(totalUnitCount:)`, which may make it a child.
    super.init(parent: nil, userInfo: nil)
    totalUnitCount = totalUnits
  }

  /// - Parameter mayCancel: whether the caller is the one to cancel. Asked before Foundation calls its handler, which would
  ///   be first, on another thread, and so not be done when `cancel()` returns.
  func setActions(
    mayCancel: @escaping @Sendable () -> Bool, whenCancelled: @escaping @Sendable () -> Void,
    whenPausedOrResumed: @escaping @Sendable (_ isPaused: Bool) -> Void
  ) {
    self.mayCancel = mayCancel
    self.whenCancelled = whenCancelled
    self.whenPausedOrResumed = whenPausedOrResumed
  }

  override func cancel() {
    let isFirst = mayCancel()
    super.cancel()
    if isFirst { whenCancelled() }
  }

  override func pause() {
    super.pause()
    whenPausedOrResumed(true)
  }

  override func resume() {
    super.resume()
    whenPausedOrResumed(false)
  }
}
