import CompositeOperations
import Foundation

/// The operation with an empty body of every row.
func emptyOperation() -> SimpleOperation<Void> {
  SimpleOperation { $0.finish() }
}

/// Starts an operation, blocks until it has finished, as `addOperations(_:waitUntilFinished:)` does
/// for the peers, makes sure that it succeeded, and hands it back, held by nobody else any more.
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

/// Makes sure that an operation succeeded, and waits until the threads that ran it have let go of
/// it.
///
/// Without that wait, one of them may be the last to release it, with all its children: after the
/// time was taken, and during the measurement of the other side. The peers hold their operations
/// until all have finished, so that theirs are released inside their time.
private func succeededAlone<O: ComposableOperation>(_ operation: consuming O) -> O {
  precondition(operation.failure == nil && operation.outcome != nil, "the measured operation must succeed")
  var operation = operation
  while !isKnownUniquelyReferenced(&operation) { sched_yield() }
  return operation
}
