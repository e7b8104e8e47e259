// Internals of the engine, which only a debug build shows.
#if DEBUG
@testable import CompositeOperations

extension Patience {
  /// Waits until the code that started the operation, such as a composition, waits for its end:
  /// `start()` has returned, and its thread does other work. For operations without observers and
  /// cancel hooks.
  public static func untilAwaited(_ operation: SettlingOperation) async {
    await until(operation.state.current.has(.hasListeners))
  }
}
#endif
