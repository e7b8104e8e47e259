import CompositeOperations

/// The closures that are called when something happens to one task.
///
/// They are closures and not methods to override, because a task is a handle, of which there may be many, and its work is
/// whatever its closure makes: there is nothing of it to subclass. What they are promised stands at ``WorkflowDelegate``.
struct TaskHooks: Sendable {
  var didFinish: (any Sendable)?
  var didFail: (@Sendable (AnyWorkflowTask, any Error) -> Void)?
  var didCancel: (@Sendable (AnyWorkflowTask) -> Void)?
  var didReset: (@Sendable (AnyWorkflowTask) -> Void)?
  var didRetry: (@Sendable (AnyWorkflowTask) -> Void)?
}

extension AnyWorkflowTask {
  /// Called each time an attempt fails, with its error. See ``WorkflowDelegate`` for when and
  /// where. Given the task, so that it need not capture it: that would keep the workflow alive for ever.
  public final var didFail: (@Sendable (_ task: AnyWorkflowTask, _ error: any Error) -> Void)? {
    get { hooks.didFail }
    set { setHook { $0.didFail = newValue } }
  }

  /// Called each time the task is cancelled. See ``WorkflowDelegate`` for when and
  /// where. Given the task, so that it need not capture it: that would keep the workflow alive for ever.
  public final var didCancel: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didCancel }
    set { setHook { $0.didCancel = newValue } }
  }

  /// Called each time the task is reset. See ``WorkflowDelegate`` for when and
  /// where. Given the task, so that it need not capture it: that would keep the workflow alive for ever.
  public final var didReset: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didReset }
    set { setHook { $0.didReset = newValue } }
  }

  /// Called each time the task is retried, before the new attempt. See ``WorkflowDelegate`` for when and
  /// where. Given the task, so that it need not capture it: that would keep the workflow alive for ever.
  public final var didRetry: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didRetry }
    set { setHook { $0.didRetry = newValue } }
  }

  final var hooks: TaskHooks {
    workflow.storage.withLock { $0.hooks[index] } ?? TaskHooks()
  }

  final func setHook(_ change: (inout TaskHooks) -> Void) {
    // What is replaced is released outside the lock, for that may run code of the user's.
    let replaced: TaskHooks? = workflow.storage.withLock { storage in
      let old = storage.hooks[index]
      change(&storage.hooks[index, default: TaskHooks()])
      storage.state.isObserved = true
      return old
    }
    withExtendedLifetime(replaced) {}
  }
}
