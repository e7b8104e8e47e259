import CompositeOperations

extension ManagerCore {
  func changeWatchers<R>(_ body: (inout Watchers) -> R) -> R {
    withLock { storage in
      defer { storage.state.isObserved = !storage.watchers.isEmpty }
      return body(&storage.watchers)
    }
  }

  /// Tells what has happened, in order, until there is nothing more. One thread at a time does.
  func deliver() {
    guard withLock({ $0.state.outbox.beginDelivery() }) else { return }
    while let entries = withLock({ $0.state.outbox.nextDelivery() }) {
      for entry in entries { deliver(entry) }
    }
  }

  private func deliver(_ entry: ManagerState<AnyManagedJob>.Entry) {
    let (streams, log) = withLock { ($0.watchers.streams.all, $0.watchers.log) }
    let content = content(of: entry)
    let (job, attempt) = (entry.payload, entry.attempt)
    if let log, content.level >= log.level {
      let message = LogMessage(
        level: content.level, category: content.category, taskIdentifier: job.identifier,
        text: "task \(job.identifier) (\(job.taskDescription)): \(content.text(attempt: attempt))")
      runUserCode { log.handler(message) }
    }
    guard !streams.isEmpty else { return }
    let event = ManagedEvent(
      content: content, taskIdentifier: job.identifier, taskDescription: job.taskDescription, attempt: attempt)
    for stream in streams { stream.put(event) }
  }

  private func content(of entry: ManagerState<AnyManagedJob>.Entry) -> ManagedEvent.Content {
    func name(_ participant: Any) -> String { "\(type(of: participant))" }
    return switch entry.notice {
    case .added: .added
    case .started: .started
    case .held(let index): .held(by: name(interceptors[index].interceptor))
    case .released(let index): .released(by: name(interceptors[index].interceptor))
    case .queued: .queued
    case .attemptStarted: .attemptStarted
    case .attemptEnded(let outcome): .attemptEnded(outcome)
    case .reacting(let index, let key): .reacting(by: name(reactors[index]), key: key)
    case .joinedReaction(let index, let key): .joinedReaction(of: name(reactors[index]), key: key)
    case .requeued(let delay): .requeued(after: delay)
    case .finished(let outcome): .finished(outcome)
    }
  }
}
