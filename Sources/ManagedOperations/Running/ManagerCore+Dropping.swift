import CompositeOperations

// Tasks that a manager gives up. A program that keeps no handle would not hear of it.

extension ManagerState {
  /// How many tasks were started, and give up if the manager is released now.
  var unexecutedCount: Int {
    jobs.values.count { job in
      switch job.phase {
      case .delayed, .waiting, .intercepting, .held, .ready, .reacting: true
      case .pending, .executing, .concluding, .settling: false
      }
    }
  }
}

extension ManagerCore {
  /// A task is not taken any more. Says so to those who watch; if nothing does, in one line on standard error.
  func tellOfRefusal(of job: AnyManagedJob, _ error: ManagedTaskError) {
    let isToWarn = change { storage in
      guard !storage.state.isObserved else {
        storage.state.outbox.append((job, 0, .finished(.failure(error))))
        return false
      }
      defer { storage.watchers.hasWarned = true }
      return !storage.watchers.hasWarned
    }
    if isToWarn { warn("does not take the task \(job.taskDescription), for it has been shut down. Make a new one.") }
  }

  /// The manager was released, and gave up tasks that had been started. Says so in one line on standard error, if
  /// nothing watches.
  func tellOfRelease(droppedCount: Int) {
    guard droppedCount > 0, withLock({ !$0.state.isObserved }) else { return }
    let tasks = droppedCount == 1 ? "a task that has" : "\(droppedCount) tasks that have"
    warn("was released with \(tasks) not ended. Keep the OperationManager as long as it has something to do.")
  }

  private func warn(_ sentence: String) {
    Diagnostics.write(
      "ManagedOperations: \(HarmlessText.line("The manager \(ErrorReport.quoted(name)) \(sentence)"))\n")
  }
}
