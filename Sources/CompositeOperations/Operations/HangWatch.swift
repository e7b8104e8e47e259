#if DEBUG
import Foundation

/// Reports operations that hang: `main` has returned, they were cancelled, and have not settled
/// some seconds later.
///
/// The most frequent cause is `guard !isCancelled else { return }`, which is right in a synchronous
/// `Operation`. The work of an operation that is not cancelled may still be running. Compositions
/// and async operations are not watched: they always settle by themselves, a composite once its
/// `main` has reached `super.main()`.
///
/// A timer checks the operation once, and keeps neither the operation nor the process alive. Exists
/// in debug builds only.
struct HangWatch: Sendable {
  /// The watch for operations that are started or cancelled in this task. Tests set their own.
  @TaskLocal static var current = HangWatch(
    // Not the continuous clock: a laptop that was asleep has not hung.
    later: { _ = Timekeeper.of(SuspendingClock()).after($0, $1) }, report: Diagnostics.write)

  static let delay = Duration.seconds(5)

  /// Calls a closure after a delay.
  let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  let report: @Sendable (_ message: String) -> Void

  /// Checks the operation after the delay.
  func watch(_ operation: SettlingOperation) {
    later(Self.delay) { [weak operation, report] in
      // A composite may have reached super.main() since.
      guard let operation, case let state = operation.state.current, state.isSuspect, !state.has(.endsByItself) else {
        return
      }
      report(Self.message(on: operation))
    }
  }

  private static func message(on operation: SettlingOperation) -> String {
    let place = operation.origin.map { ", made at \($0.fileID):\($0.line)," } ?? ""
    let remedy =
      operation.state.current.has(.beginsInMain)
      ? """
      Call super.main() on every path. `guard !isCancelled else { return }` ends a synchronous Operation, but hangs \
      this one: leave it out, for super.main() runs no child of a cancelled composite, and settles it.
      """
      : """
      Settle it on every path. \
      `guard !isCancelled else { return }` ends a synchronous Operation, but hangs this one: call \
      settle(with: .cancelled) before the return. A finish() of your own settles nothing: call finish(with:). Or use a \
      closure that returns the value, or override perform(): these settle by themselves.
      """
    return """
      CompositeOperations: \(OperationError.describe(operation))\(place) seems to hang: main() has returned, the \
      operation is cancelled, and after \(delay) it has not settled. \(remedy)

      """
  }
}
#endif
