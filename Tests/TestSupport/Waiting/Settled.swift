public import CompositeOperations
public import Foundation

/// Waits until `operation` settled and returns its outcome. Starts nothing, sets nothing, cancels
/// nothing.
public func settled<O: ComposableOperation>(_ operation: O) async -> Outcome<O.Value> {
  do {
    return .success(try await operation.value)
  } catch is CancellationError {
    return .cancelled
  } catch {
    return .failure(error)
  }
}

/// Starts `operation` on a dispatch worker, and returns its outcome when it has settled.
public func outcomeOfStarting<O: ComposableOperation>(_ operation: O) async -> Outcome<O.Value> {
  DispatchQueue.global().async { operation.start() }
  return await settled(operation)
}

/// Waits until `operation`, of any kind, is finished and Foundation has notified its dependents: a
/// helper operation depends on it.
public func finished(_ operation: Operation) async {
  await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
    let helper = BlockOperation { continuation.resume() }
    helper.addDependency(operation)
    helperQueue.addOperation(helper)
    // A queue on Linux misses a dependency that finishes while the operation is being added.
    if helper.isReady { helper.didChangeValue(forKey: "isReady") }
  }
}

private let helperQueue = OperationQueue()
