import Foundation

/// Several operations in parallel, and one value made of theirs: the engine of `zip`, `all` and `firstSuccess`.
final class GatheringSource: ParallelSource, @unchecked Sendable {  // immutable
  private let gather: ([Operation]) -> any Sendable

  private let form: Timeline.Kind

  override var kind: Timeline.Kind { form }

  /// - Parameter gather: makes the value from the operations, all of which have succeeded. For the policy
  ///   `firstSuccess` it gets the one that did.
  init(
    _ children: [Operation], as form: Timeline.Kind, policy: ParallelState.Policy,
    gather: @escaping ([Operation]) -> any Sendable
  ) {
    self.form = form
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
      settleOwner(as: .failure, error: CompositeError(failures, of: operations))
    case .failure(let failures):
      settleOwner(as: .failure, error: failures[0].error)
    case .cancelled:
      settleOwner(as: .cancelled)
    }
  }
}

extension CompositeError {
  /// - Parameter failures: in any order; never empty.
  init(_ failures: [ParallelState.Failure], of operations: [Operation]) {
    self.init(
      failures: failures.sorted { $0.tag < $1.tag }.map {
        Failure(index: $0.tag, operationName: operations[$0.tag].name, error: $0.error)
      })
  }
}

extension ComposableOperation {
  /// The value of an operation known to have succeeded.
  var gatheredValue: Value {
    guard case .success(let value) = outcome else {
      preconditionFailure("\(OperationError.describe(self)) has no value: \(String(describing: outcome))")
    }
    return value
  }
}
