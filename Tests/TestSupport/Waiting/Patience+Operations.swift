// Internals of the engine, which only a debug build shows.
#if DEBUG
@testable import CompositeOperations

extension Patience {
  /// Whether the children of the operation are held back, because its progress or one around it is
  /// paused.
  public static func isHeldBack(_ operation: SettlingOperation) -> Bool {
    switch operation.source {
    case let source as ParallelSource: source.state.withLock { $0.isHeld }
    case let source as SequentialSource: source.state.withLock { $0.isHeld }
    default: false
    }
  }

  /// Waits until the code that started the operation, such as a composition, waits for its end:
  /// `start()` has returned, and its thread does other work. For operations without observers and
  /// cancel hooks.
  public static func untilAwaited(_ operation: SettlingOperation) async {
    await until(operation.state.current.has(.hasListeners))
  }
}
#endif
