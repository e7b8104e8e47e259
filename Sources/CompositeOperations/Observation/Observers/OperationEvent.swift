public import Foundation

/// Something that happened to an operation, as its observers and event streams are told.
///
/// For one operation they come in this order: `started`, unless it never runs; then `cancelled` at most once, and any
/// number of `progress` and `childAdded`; and `settled`, exactly once and last. `cancelled` comes alone before `settled`
/// if the operation was cancelled before it started.
public enum OperationEvent: Sendable {
  /// It starts. Told before `main` runs, and not if it never does.
  case started
  /// A `cancel()` took effect. Not told of operations that settle as cancelled by themselves.
  case cancelled
  /// The fraction of it that is done has grown to this, by at least a thousandth. See
  /// ``SettlingOperation/fractionCompleted``. A success is not told again as `progress(1)`.
  case progress(Double)
  /// It is a composition and has a new child: all children of a parallel one are told when it starts, those of a sequence
  /// one by one.
  case childAdded(Operation)
  /// It has settled like this: its completion has run, and `isFinished` is true.
  case settled(Outcome<any Sendable>)
}

extension OperationEvent: CustomStringConvertible {
  /// What happened, such as `settled: success(7)`.
  public var description: String {
    switch self {
    case .started: "started"
    case .cancelled: "cancelled"
    case .progress(let fraction): "progress: \(fraction)"
    case .childAdded(let child): "child added: \(OperationError.describe(child))"
    case .settled(let outcome): "settled: \(outcome)"
    }
  }
}
