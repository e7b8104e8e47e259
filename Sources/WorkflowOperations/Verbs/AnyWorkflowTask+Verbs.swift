// What can be done to one task.

extension AnyWorkflowTask {
  /// Runs the task, if it is ``State/ready``; then those of its dependents that become ready, and theirs.
  ///
  /// It executes when there is room for it, within the workflow's limit and in the queue. If the workflow is not
  /// running, a run begins, in which tasks that were ready before and are not started stay so.
  ///
  /// - Returns: false if the task is not ready, or was started before and waits for room; then nothing happens.
  @discardableResult
  public final func start() -> Bool {
    workflow.input { $0.start(index) }
  }

  /// Cancels the task and all tasks that depend on it, directly or not, unless they are finished, failed or cancelled.
  ///
  /// They are ``State/cancelled`` when this returns. An operation under way has been cancelled, and is waited for by the
  /// workflow, but whatever comes of it is ignored; a ``retry()`` need not wait for it.
  ///
  /// - Returns: whether any task was cancelled.
  @discardableResult
  public final func cancel() -> Bool {
    workflow.input { $0.cancel(index) }
  }

  /// Fails the task, if it executes, whatever comes of its attempt; says of a condition that it will not come true.
  ///
  /// It has failed when this returns. An operation under way has been cancelled, and is waited for by the workflow, but
  /// whatever comes of it is ignored. A ``retry()`` runs the task again. With a `CancellationError` this is ``cancel()``.
  ///
  /// - Returns: false if the task does not execute; nothing happens then.
  @discardableResult
  public final func reject(with error: any Error) -> Bool {
    workflow.input { $0.rejectExecuting(index, with: error) }
  }

  /// Runs the task again if it failed or was cancelled, and likewise all tasks that depend on it, directly or not.
  ///
  /// Those whose prerequisites have finished run now, the others when theirs have. Tasks in other states stay as they
  /// are. If the workflow is not running, a run begins.
  ///
  /// - Returns: whether any task will run again.
  @discardableResult
  public final func retry() -> Bool {
    workflow.follow(.retry, if: workflow.input { $0.retry(index) })
  }

  /// Makes the task and all that depend on it, directly or not, as if they had never run. Starts nothing.
  ///
  /// Results, errors and dates are dropped, and the values of conditions. An operation under way is cancelled, and
  /// whatever comes of it is ignored. To run them again, start this task or the workflow.
  ///
  /// - Returns: whether there was anything to reset.
  @discardableResult
  public final func reset() -> Bool {
    workflow.follow(.reset, if: workflow.input { $0.reset(index) })
  }
}
