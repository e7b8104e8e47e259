import CompositeOperations

// What users can do to one task.

extension AnyWorkflowTask {
  /// Runs the task, if it is ``State/ready``; then its dependents that become ready, and so on.
  ///
  /// It executes when there is room for it, within the workflow's limit and in the queue. If the
  /// workflow is not running, a run begins; it does not start other tasks that are ready.
  ///
  /// - Returns: false if the task is not ready, or was started before and waits for room; then
  ///   nothing happens.
  @discardableResult
  public final func start() -> Bool {
    workflow.input { $0.start(index) }
  }

  /// Cancels the task and all tasks that depend on it, directly or not, unless they are finished,
  /// failed or cancelled.
  ///
  /// They are ``State/cancelled`` when this returns. An operation that is under way has been
  /// cancelled. The run waits for it and discards its outcome; a ``retry()`` need not wait.
  ///
  /// - Returns: whether any task was cancelled.
  @discardableResult
  public final func cancel() -> Bool {
    workflow.input { $0.cancel(index) }
  }

  /// Fails the task or condition, if it executes.
  ///
  /// It has failed when this returns. An operation that is under way has been cancelled. The run
  /// waits for it and discards its outcome. A ``retry()`` runs the task again. With a
  /// `CancellationError` this is ``cancel()``.
  ///
  /// - Returns: false if the task does not execute; then nothing happens.
  @discardableResult
  public final func reject(with error: any Error) -> Bool {
    workflow.input { $0.rejectExecuting(index, with: error) }
  }

  /// Runs the task again if it failed or was cancelled, and likewise all tasks that depend on it,
  /// directly or not.
  ///
  /// Tasks whose prerequisites have finished run now, the others when theirs have. Tasks in other
  /// states do not change. If the workflow is not running, a run begins. What runs then sees the
  /// task-local values of this call: see `OperationContext`.
  ///
  /// - Returns: whether any task will run again.
  @discardableResult
  public final func retry() -> Bool {
    let context = OperationContext.capture()
    return workflow.follow(.retry(in: context), if: workflow.input { $0.retry(index, in: context) })
  }

  /// Takes the task and all tasks that depend on it, directly or not, back to where they were
  /// before they ran. Starts nothing.
  ///
  /// Drops results, errors and dates, and the values of conditions. Cancels an operation that is
  /// under way, and discards its outcome. To run the tasks again, start this task or the workflow.
  ///
  /// - Returns: whether there was anything to reset.
  @discardableResult
  public final func reset() -> Bool {
    workflow.follow(.reset, if: workflow.input { $0.reset(index) })
  }
}

extension WorkflowTask {
  /// Finishes the task with a result, if it executes: when the answer is known from elsewhere, or
  /// is no longer needed.
  ///
  /// It has finished when this returns, and tasks that depend on it run. An operation that is under
  /// way has been cancelled. The run waits for it and discards its outcome. A condition that
  /// executes is fulfilled.
  ///
  /// - Returns: false if the task does not execute; then the result is ignored.
  @discardableResult
  public final func finish(with result: Value) -> Bool {
    workflow.input { $0.finishExecuting(index, with: result) }
  }
}

extension WorkflowTask where Value == Void {
  /// Finishes the task, if it executes; see ``finish(with:)``.
  ///
  /// - Returns: false if the task does not execute.
  @discardableResult
  public final func finish() -> Bool { finish(with: ()) }
}

extension ExternalCondition {
  /// Gives the condition its value. Starts nothing.
  ///
  /// A condition that executes finishes; otherwise it keeps the value until it executes. `reset()`
  /// drops the value; `cancel()` and `retry()` do not.
  ///
  /// - Returns: false if the condition is fulfilled already; then the value is ignored.
  @discardableResult
  public func fulfill(with value: Value) -> Bool {
    workflow.input { $0.fulfill(index, with: value) }
  }
}

extension ExternalCondition where Value == Void {
  /// Fulfils the condition; see ``fulfill(with:)``.
  ///
  /// - Returns: false if the condition is fulfilled already.
  @discardableResult
  public func fulfill() -> Bool {
    fulfill(with: ())
  }
}
