import CompositeOperations

/// Receives what happens in a workflow, in all of its runs, at the moment at which it happens.
///
/// A workflow passes each event to the hook of the task, then to the delegate, then to the streams
/// of events; then tasks that became ready by it run, and callers that await the workflow go on. So
/// a delegate can store a result before other tasks use it.
///
/// Events are passed on one after the other, in the order in which they happened, under no lock: by
/// the thread that caused the event or, while another thread is passing on events, by that one.
/// Hooks and delegates should not block. They may use the workflow as they like. What they change
/// takes effect at once; its events are passed on when they have returned.
///
/// To receive events elsewhere, on the main actor for instance, read
/// ``Workflow/events(bufferingPolicy:)`` there.
public protocol WorkflowDelegate: AnyObject, Sendable {
  /// Called by the workflow for each event.
  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent)
}

extension Workflow {
  /// The object that receives each event. The workflow does not keep it alive.
  public var delegate: (any WorkflowDelegate)? {
    get { storage.withLock(\.delegate) }
    set {
      storage.withLock { storage in
        storage.delegate = newValue
        storage.hasDelegate = newValue != nil
        storage.noteObservers()
      }
    }
  }

  /// Makes a stream of what happens from now on, in the order in which it happens.
  ///
  /// Each call makes a stream of its own. It ends after the event with which a run settles, or when
  /// the workflow is released; a run that pauses does not end it. What has happened before and is
  /// still to be passed on is not in it. One that a hook or a delegate makes begins with the event
  /// after the one that this was called with.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a reader that is slower; by default
  ///   the newest 1,024. ``WorkflowEvent/droppedCount`` counts the events that were dropped.
  public func events(
    bufferingPolicy: AsyncStream<WorkflowEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<WorkflowEvent> {
    let (stream, feed) = EventFeed<WorkflowEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let number = storage.withLock { storage in
      defer { storage.noteObservers() }
      return storage.streams.add(feed, after: storage.newestEvent)
    }
    feed.whenTerminated { [weak self] in self?.removeStream(number) }
    return stream
  }

  func removeStream(_ number: Int) {
    let removed = storage.withLock { storage in
      defer { storage.noteObservers() }
      return storage.streams.remove(number)
    }
    withExtendedLifetime(removed) {}
  }
}

// MARK: - Hooks

/// The closures that are called when something happens to one task.
///
/// They are closures and not methods to override, because a task is a handle, of which there may be
/// many: nothing of it can be subclassed.
struct TaskHooks: Sendable {
  /// A `FinishHook`: what it takes is of the task's value type.
  var didFinish: (any Sendable)?
  var didFail: (@Sendable (AnyWorkflowTask, any Error) -> Void)?
  var didCancel: (@Sendable (AnyWorkflowTask) -> Void)?
  var didReset: (@Sendable (AnyWorkflowTask) -> Void)?
  var didRetry: (@Sendable (AnyWorkflowTask) -> Void)?
}

extension WorkflowTask {
  /// Called each time the task finishes, with its result, before tasks that depend on it run.
  ///
  /// ``WorkflowDelegate`` says when and where. A hook that captures its task keeps the workflow
  /// alive for ever; use the task that it is called with.
  public final var didFinish: (@Sendable (_ task: WorkflowTask<Value>, _ result: Value) -> Void)? {
    get { (hooks.didFinish as? FinishHook<Value>)?.body }
    set {
      let hook = newValue.map { FinishHook(body: $0) }
      setHook { $0.didFinish = hook }
    }
  }
}

/// A closure whose type says what it is given.
final class FinishHook<Value: Sendable>: Sendable {
  let body: @Sendable (WorkflowTask<Value>, Value) -> Void

  init(body: @escaping @Sendable (WorkflowTask<Value>, Value) -> Void) {
    self.body = body
  }
}

extension AnyWorkflowTask {
  /// Called each time an attempt fails, with its error; see ``WorkflowTask/didFinish``.
  public final var didFail: (@Sendable (_ task: AnyWorkflowTask, _ error: any Error) -> Void)? {
    get { hooks.didFail }
    set { setHook { $0.didFail = newValue } }
  }

  /// Called each time the task is cancelled; see ``WorkflowTask/didFinish``.
  public final var didCancel: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didCancel }
    set { setHook { $0.didCancel = newValue } }
  }

  /// Called each time the task is reset; see ``WorkflowTask/didFinish``.
  public final var didReset: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didReset }
    set { setHook { $0.didReset = newValue } }
  }

  /// Called each time the task is retried, before the new attempt; see ``WorkflowTask/didFinish``.
  public final var didRetry: (@Sendable (_ task: AnyWorkflowTask) -> Void)? {
    get { hooks.didRetry }
    set { setHook { $0.didRetry = newValue } }
  }

  final var hooks: TaskHooks {
    workflow.storage.withLock { $0.hooks[index] } ?? TaskHooks()
  }

  final func setHook(_ change: (inout TaskHooks) -> Void) {
    // What is replaced is released outside the lock, because that may run code of the user's.
    let replaced: TaskHooks? = workflow.storage.withLock { storage in
      let old = storage.hooks[index]
      change(&storage.hooks[index, default: TaskHooks()])
      storage.state.isObserved = true
      return old
    }
    withExtendedLifetime(replaced) {}
  }
}
