import CompositeOperations

// What users can do to a workflow as a whole.

extension Workflow {
  /// Runs every task that is ready, then those that become ready.
  ///
  /// Begins a run, or adds to the one that is under way. Returns at once; ``run()`` waits for the
  /// end. Tasks that failed or were cancelled do not run; ``retry()`` runs them again. A workflow
  /// with nothing to run settles at once, with success if it has no tasks or all have finished.
  public func start() {
    input { $0.startEverything() }
  }

  /// Cancels every task that is not finished, failed or cancelled; see
  /// ``AnyWorkflowTask/cancel()``. A run that is under way ends as cancelled when its operations
  /// have settled.
  ///
  /// What is in its subworkflows is cancelled, too, when this returns. There is one exception:
  /// `didCancel()` or `onCancel` of an operation calls this while eight or more workflows that are
  /// nested around the operation are being cancelled. Then this may cancel only the tasks of the
  /// workflow itself before it returns. The same thread cancels the rest before the call returns
  /// that cancels the outermost of those around the operation. In hooks and delegates of workflows
  /// there is no such exception.
  ///
  /// - Returns: whether any task was cancelled.
  @discardableResult
  public func cancel() -> Bool {
    input { $0.cancelEverything() }
  }

  /// Runs every failed or cancelled task again, and with them every task that is ready. Does
  /// nothing if no task failed or was cancelled. What runs again sees the task-local values of this
  /// call: see `OperationContext`.
  ///
  /// - Returns: whether any task will run again.
  @discardableResult
  public func retry() -> Bool {
    let context = OperationContext.capture()
    return follow(.retry(in: context), if: input { $0.retryEverything(in: context) })
  }

  /// Takes all tasks back to where they were before they ran; see ``AnyWorkflowTask/reset()``.
  /// Starts nothing. A run that is under way ends when its operations have settled.
  ///
  /// - Returns: whether there was anything to reset.
  @discardableResult
  public func reset() -> Bool {
    follow(.reset, if: input { $0.resetEverything() })
  }
}
