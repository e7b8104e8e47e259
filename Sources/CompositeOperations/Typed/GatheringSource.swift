import Foundation

/// Runs operations in parallel, and makes one value from their values: the engine of `zip`, `all`,
/// `allSettled` and `firstSuccess`.
final class GatheringSource: ParallelSource, @unchecked Sendable {  // immutable
  private let gather: ([Operation]) -> any Sendable

  private let ownKind: OperationKind

  override var kind: OperationKind { ownKind }

  /// - Parameter gather: makes the value from the operations, which have all succeeded. For the
  ///   policy `firstSuccess` it receives only the operation that succeeded. For `settleAll` it
  ///   receives all operations, whatever their outcomes.
  init(
    _ children: [Operation], as form: OperationKind, policy: ParallelState.Policy,
    gather: @escaping ([Operation]) -> any Sendable
  ) {
    ownKind = form
    self.gather = gather
    super.init(children, policy: policy, joins: true)
  }

  override func conclude(_ verdict: ParallelState.Verdict) {
    switch verdict {
    case .success where succeedsFirst:
      settleOwner(as: .failure, error: OperationError(.noOperations))
    case .success:
      settleOwner(as: .success, value: gather(operations))
    case .winner(let tag):
      settleOwner(as: .success, value: gather([operations[tag]]))
    case .failure(let failures) where succeedsFirst:
      settleOwner(as: .failure, error: CompositeError(failures, of: operations, in: ownerName))
    case .failure(let failures):
      settleOwner(as: .failure, error: failures[0].error)
    case .cancelled:
      settleOwner(as: .cancelled)
    }
  }
}

extension ComposableOperation {
  /// The value of an operation that is known to have succeeded.
  var gatheredValue: Value {
    guard case .success(let value) = outcome else {
      preconditionFailure("\(OperationError.describe(self)) has no value: \(String(describing: outcome))")
    }
    return value
  }

  /// The outcome of an operation that is known to have finished.
  var settledOutcome: Outcome<Value> {
    if let outcome { return outcome }
    return isCancelled ? .cancelled : .failure(OperationError(.missingOutcome, operation: self))
  }
}
