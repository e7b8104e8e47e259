import CompositeOperations

// What observers are told, in order.

extension Workflow {
  /// Does what is in the outbox, in order, until it is empty. One thread at a time does.
  func deliver() {
    while let entries = storage.withLock({ $0.state.outbox.nextDelivery() }) {
      for entry in entries {
        switch entry {
        case .notice(let notice): deliver(notice)
        case .toldStart(let notice): notice.tell()
        case .handIn(let tasks, let run): handIn(tasks, run: run)
        case .end(let end): finish(end)
        case .endIfIdle: input { $0.endIfIdle() }
        }
      }
    }
  }

  private func deliver(_ notice: WorkflowNotice) {
    let (content, index, attempt) = event(for: notice)
    let task = index.map(handle)
    if let task, let index, let hooks = storage.withLock({ $0.hooks[index] }) { call(hooks, for: notice, of: task) }
    if let delegate = storage.withLock({ $0.delegate }) { tell(delegate, content, task, attempt: attempt) }
    let event = WorkflowEvent(content: content, task: task, attempt: attempt)
    for stream in storage.withLock({ $0.streams.all }) {
      stream.put(event)
      if notice.settles { stream.end() }
    }
  }

  private func event(for notice: WorkflowNotice) -> (WorkflowEvent.Content, task: Int?, attempt: Int) {
    switch notice {
    case .workflowStarted: (.workflowStarted, nil, 0)
    case .workflowEnded(nil): (.workflowPaused, nil, 0)
    case .workflowEnded(.finished): (.workflowFinished, nil, 0)
    case .workflowEnded(.cancelled): (.workflowCancelled, nil, 0)
    case .workflowEnded(.failed(let record)): (.workflowFailed(WorkflowError(workflow: self, record: record)), nil, 0)
    case .workflowReset: (.workflowReset, nil, 0)
    case .workflowRetried: (.workflowRetried, nil, 0)
    case .started(let task, let attempt): (.started, task, attempt)
    case .finished(let task, let attempt, _): (.finished, task, attempt)
    case .failed(let task, let attempt, let error): (.failed(error), task, attempt)
    case .cancelled(let task, let attempt): (.cancelled, task, attempt)
    case .reset(let task, let attempt): (.reset, task, attempt)
    case .retried(let task, let attempt): (.retried, task, attempt)
    case .discarded(let task, let attempt, let outcome): (.discarded(outcome), task, attempt)
    }
  }

  private func call(_ hooks: TaskHooks, for notice: WorkflowNotice, of task: AnyWorkflowTask) {
    switch notice {
    case .finished(_, _, let value): hooks.didFinish.map { task.callFinishHook($0, value: value) }
    case .failed(_, _, let error): hooks.didFail?(task, error)
    case .cancelled: hooks.didCancel?(task)
    case .reset: hooks.didReset?(task)
    case .retried: hooks.didRetry?(task)
    case .started, .discarded, .workflowStarted, .workflowEnded, .workflowReset, .workflowRetried: break
    }
  }

  private func tell(
    _ delegate: any WorkflowDelegate, _ content: WorkflowEvent.Content, _ task: AnyWorkflowTask?, attempt: Int
  ) {
    guard let task else {
      switch content {
      case .workflowStarted: delegate.workflowDidStart(self)
      case .workflowFinished: delegate.workflowDidFinish(self)
      case .workflowFailed(let error): delegate.workflow(self, didFailWith: error)
      case .workflowCancelled: delegate.workflowDidCancel(self)
      case .workflowPaused: delegate.workflowDidPause(self)
      case .workflowReset: delegate.workflowDidReset(self)
      case .workflowRetried: delegate.workflowDidRetry(self)
      case .started, .finished, .failed, .cancelled, .reset, .retried, .discarded: break
      }
      return
    }
    switch content {
    case .started: delegate.workflow(self, taskDidStart: task)
    case .finished: delegate.workflow(self, taskDidFinish: task)
    case .failed(let error): delegate.workflow(self, task: task, didFailWith: error)
    case .cancelled: delegate.workflow(self, taskDidCancel: task)
    case .reset: delegate.workflow(self, taskDidReset: task)
    case .retried: delegate.workflow(self, taskDidRetry: task)
    case .discarded(let outcome):
      delegate.workflow(self, task: task, didDiscardAttempt: attempt, outcome: outcome)
    case .workflowStarted, .workflowFinished, .workflowFailed, .workflowCancelled, .workflowPaused, .workflowReset,
      .workflowRetried:
      break
    }
  }
}
