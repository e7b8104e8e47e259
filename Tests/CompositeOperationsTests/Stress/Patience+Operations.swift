import TestSupport

@testable import CompositeOperations

extension Patience {
  /// Whether a paused progress comes to hold the children of the operation back. Its handlers are called elsewhere.
  static func isHeldBack(_ operation: SettlingOperation) async -> Bool {
    await reached {
      switch operation.source {
      case let source as ParallelSource: source.state.withLock { $0.isHeld }
      case let source as SequentialSource: source.state.withLock { $0.isHeld }
      default: false
      }
    }
  }

  /// Waits until whoever started the operation, a composition for instance, waits for its end: `start()` has returned,
  /// and the thread that called it does something else. For operations without observers and cancel hooks.
  static func untilAwaited(_ operation: SettlingOperation) async {
    while !operation.state.current.has(.hasListeners), !Task.isCancelled { await onWorker {} }
  }
}
