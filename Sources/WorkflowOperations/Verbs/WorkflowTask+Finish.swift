extension WorkflowTask {
  /// Finishes the task with a result, if it executes, whatever comes of its attempt: when the answer is known from elsewhere,
  /// or not needed any more.
  ///
  /// It has finished when this returns, and tasks that depend on it run. An operation under way has been cancelled, and is
  /// waited for by the workflow, but whatever comes of it is ignored. A condition that executes is fulfilled by this.
  ///
  /// - Returns: false if the task does not execute; the result is ignored then.
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
