import Foundation

/// A `Progress` whose `cancel()`, `pause()` and `resume()` take effect before they return.
///
/// Foundation's own return before the handlers are called, on another thread, so children could start in between.
final class OperationProgress: Progress, @unchecked Sendable {  // the actions are set once, before it is handed out
  private var whenCancelled: @Sendable () -> Void = {}
  private var whenPausedOrResumed: @Sendable () -> Void = {}

  init(totalUnits: Int64) {
    // Not `Progress(totalUnitCount:)`, which may make it a child.
    super.init(parent: nil, userInfo: nil)
    totalUnitCount = totalUnits
  }

  func setActions(
    whenCancelled: @escaping @Sendable () -> Void, whenPausedOrResumed: @escaping @Sendable () -> Void
  ) {
    self.whenCancelled = whenCancelled
    self.whenPausedOrResumed = whenPausedOrResumed
  }

  override func cancel() {
    super.cancel()
    whenCancelled()
  }

  override func pause() {
    super.pause()
    whenPausedOrResumed()
  }

  override func resume() {
    super.resume()
    whenPausedOrResumed()
  }
}
