/// Reports the progress of an operation from inside its work. See
/// ``AsyncOperation/init(name:priority:reporting:)``.
///
/// The reporter does not keep the operation alive.
public struct ProgressReporter: Sendable {
  private final class Target: @unchecked Sendable {  // set once; weak loads are atomic
    weak var operation: SettlingOperation?

    init(_ operation: SettlingOperation) {
      self.operation = operation
    }
  }

  private let target: Target

  init(for operation: SettlingOperation) {
    target = Target(operation)
  }

  /// Reports the fraction of the work that is done.
  ///
  /// May be called on any thread. A fraction that is not higher than the last one has no effect. A
  /// fraction outside 0 to 1 is clamped. Has no effect once the operation has settled.
  ///
  /// - Parameter fraction: the fraction that is done, from 0 to 1. Traps if it is not a number.
  public func report(_ fraction: Double) {
    target.operation?.reportProgress(fraction)
  }

  /// Reports how many pieces of the work are done.
  ///
  /// - Parameters:
  ///   - completed: how many pieces are done.
  ///   - total: the number of pieces. If it is 0 or less, the number is unknown, and nothing is
  ///     reported.
  public func report(completed: Int, of total: Int) {
    target.operation?.reportProgress(completed: completed, of: total)
  }
}
