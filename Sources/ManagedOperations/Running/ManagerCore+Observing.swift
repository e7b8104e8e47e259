import CompositeOperations

extension ManagerCore {
  func changeStreams<R>(_ body: (inout EventFeeds<ManagedEvent>) -> R) -> R {
    withLock { storage in
      defer { storage.state.isObserved = !storage.streams.isEmpty }
      return body(&storage.streams)
    }
  }

  /// Puts what has happened into the streams, in order, until there is nothing more. One thread at a
  /// time does.
  func deliver() {
    guard withLock({ $0.state.outbox.beginDelivery() }) else { return }
    while let entries = withLock({ $0.state.outbox.nextDelivery() }) {
      let streams = withLock { $0.streams.all }
      guard !streams.isEmpty else { continue }
      for (job, attempt, notice) in entries {
        let event = ManagedEvent(
          content: content(of: notice), taskID: job.id, taskDescription: job.taskDescription, attempt: attempt)
        for stream in streams { stream.put(event) }
      }
    }
  }

  private func content(of notice: ManagerNotice) -> ManagedEvent.Content {
    switch notice {
    case .added: .added
    case .started: .started
    case .held(let index): .held(by: interceptors[index].name)
    case .released(let index): .released(by: interceptors[index].name)
    case .queued: .queued
    case .attemptStarted: .attemptStarted
    case .attemptEnded(let outcome): .attemptEnded(outcome)
    case .reacting(let index, let key): .reacting(by: reactorNames[index], key: key)
    case .joinedReaction(let index, let key): .joinedReaction(of: reactorNames[index], key: key)
    case .requeued(let delay): .requeued(after: delay)
    case .finished(let outcome): .finished(outcome)
    case .dropped: .dropped
    }
  }
}
