import CompositeOperations

extension ManagerCore {
  func startReaction(_ number: Int, of reactor: Int, key: String?, to job: AnyManagedJob, attempt: Int) {
    let context = ReactionContext(
      taskID: job.id, taskDescription: job.taskDescription, attempt: attempt,
      outcome: job.lastOutcome ?? .cancelled, key: key)
    let timer = reactorConfigurations[reactor].timeout.map { timeout in
      timekeeper.after(timeout) { [weak self] in self?.input { $0.reactionEnded(number, .timedOut) } }
    }
    let task = Task.detached { [self, reactor = reactors[reactor]] in
      let answer: ReactionAnswer
      do {
        answer = .answered(try await reactor.react(to: context))
      } catch {
        answer = .threw(error)
      }
      input { $0.reactionEnded(number, answer) }
    }
    let isNeeded = withLock { storage in
      guard storage.state.reactions[number] != nil else { return false }
      storage.reactionTasks[number] = (task, timer)
      return true
    }
    if !isNeeded { end((task, timer)) }
  }

  func cancelReaction(_ number: Int) {
    if let reaction = withLock({ $0.reactionTasks.removeValue(forKey: number) }) { end(reaction) }
  }

  private func end(_ reaction: (task: Task<Void, Never>, timer: Timekeeper.Timer?)) {
    reaction.task.cancel()
    if let timer = reaction.timer { timekeeper.cancel(timer) }
  }
}
