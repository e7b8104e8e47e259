import CompositeOperations
public import Foundation

// The attempt that is under way.

extension AnyWorkflowTask {
  /// The operation of the attempt that is under way, as the task's closure made it: to watch its progress and its parts, for
  /// example. For a subworkflow it is that of its run.
  ///
  /// Nil while the task does not execute, while its operation is being made, and for a condition. It is the workflow's to start
  /// and to end: to cancel it cancels the task.
  public final var operation: Operation? {
    var operation = workflow.storage.withLock { storage in
      storage.state.nodes[index].slot.flatMap { storage.state.attempts[$0]?.operation }
    }
    while let wrapped = operation as? any WrappedAttempt { operation = wrapped.attempt }
    return operation
  }

  /// How much of the task is done, from 0 to 1: 1 if it has finished, while it executes what its ``operation`` says, otherwise
  /// 0. It begins anew with each attempt.
  public final var fractionCompleted: Double {
    if state == .finished { return 1 }
    return (operation as? SettlingOperation)?.fractionCompleted ?? 0
  }
}
