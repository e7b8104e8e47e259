import CompositeOperations
import Foundation

/// The operation with an empty body of every row.
func emptyOperation() -> SimpleOperation<Void> {
  SimpleOperation { $0.finish() }
}

/// Starts an operation, blocks until it has finished, as `addOperations(_:waitUntilFinished:)` does
/// for the peers, checks that it succeeded, and returns it when no other reference is left.
///
/// The caller must hold no other reference.
@discardableResult
func finish<O: ComposableOperation>(_ operation: consuming O) -> O {
  operation.start()
  operation.waitUntilFinished()
  return succeededAlone(operation)
}

/// The same from async code, by `run()`.
@discardableResult
func finish<O: ComposableOperation>(_ operation: consuming O) async -> O {
  do {
    try await operation.run()
  } catch {
    preconditionFailure("the measured operation must succeed, but failed: \(error)")
  }
  return succeededAlone(operation)
}

/// Checks that an operation succeeded, and waits until the threads that ran it have released it.
///
/// Otherwise one of them may release it last, with all its children: after the measurement, and
/// during that of the other side. The peers hold their operations until all have finished, so these
/// are released inside their measurement.
private func succeededAlone<O: ComposableOperation>(_ operation: consuming O) -> O {
  precondition(operation.failure == nil && operation.outcome != nil, "the measured operation must succeed")
  var operation = operation
  while !isKnownUniquelyReferenced(&operation) { sched_yield() }
  return operation
}
