import CompositeOperations

// Events are passed on, in order.

extension Workflow {
  /// Does what is in the outbox, in order, until it is empty. One thread at a time does.
  func deliver() {
    while let entries = storage.withLock({ $0.state.outbox.nextDelivery() }) {
      for entry in entries {
        switch entry {
        case .event(let content, let number): deliver(content, number: number)
        case .toldStart(let notice): notice.tell()
        case .handIn(let tasks, let run): handIn(tasks, run: run)
        case .end(let end): finish(end)
        case .endIfIdle: input { $0.endIfIdle() }
        }
      }
    }
  }

  /// Passes an event to the hook of its task, to the delegate and to the streams. Each is looked up
  /// when its turn has come: the ones before may change them. But a stream that was made after the
  /// event had happened does not receive it.
  private func deliver(_ content: WorkflowEvent.Content, number: Int) {
    let hooks = storage.withLock { storage in
      storage.delivering = (event: number, onThread: Threads.current)
      return content.task.flatMap { storage.hooks[$0] }
    }
    defer { storage.withLock { $0.delivering = nil } }
    Unwinding.runUserCode(in: content.context) {
      if let task = content.task, let hooks { call(hooks, for: content, of: handle(task)) }
      let event = WorkflowEvent(content, in: self)
      if let delegate = storage.withLock({ $0.delegate }) { delegate.workflow(self, didReceive: event) }
      for stream in storage.withLock({ $0.streams.receiving(number) }) {
        stream.put(event)
        if content.settles { stream.end() }
      }
    }
  }

  private func call(_ hooks: TaskHooks, for content: WorkflowEvent.Content, of task: AnyWorkflowTask) {
    switch content.kind {
    case .finished:
      if let hook = hooks.didFinish, case .attempt(.success(let value)) = content.ending {
        task.callFinishHook(hook, value: value)
      }
    case .failed:
      if let hook = hooks.didFail, case .attempt(.failure(let error)) = content.ending { hook(task, error) }
    case .cancelled: hooks.didCancel?(task)
    case .reset: hooks.didReset?(task)
    case .retried: hooks.didRetry?(task)
    case .started, .discarded, .workflowStarted, .workflowFinished, .workflowFailed, .workflowCancelled,
      .workflowPaused, .workflowReset, .workflowRetried:
      break
    }
  }
}
