/// Tells how far an operation is, from inside its work. See ``AsyncOperation/init(name:priority:reporting:)``.
///
/// Does not keep the operation alive.
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

  /// Tells how much of the work is done.
  ///
  /// May be called from any thread. A fraction that is not beyond the last one changes nothing, one outside of 0 to 1 counts
  /// as the nearer of the two. Without effect once the operation has settled.
  ///
  /// - Parameter fraction: the part that is done, from 0 to 1. Traps if it is not a number.
  public func report(_ fraction: Double) {
    target.operation?.reportProgress(fraction)
  }

  /// Tells how many pieces of the work are done.
  ///
  /// - Parameters:
  ///   - completed: how many pieces are done.
  ///   - total: how many there are. One of 0 or less means that it is not known, and nothing is reported.
  public func report(completed: Int, of total: Int) {
    target.operation?.reportProgress(completed: completed, of: total)
  }
}
