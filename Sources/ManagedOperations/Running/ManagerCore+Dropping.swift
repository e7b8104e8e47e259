import CompositeOperations

// Tasks that a manager gives up: a program that keeps no handle would not learn of it.

extension ManagerCore {
  /// The manager no longer takes a task. Says so once, in a line on standard error, unless a stream
  /// of events or a sink watches it.
  func warnOfRefusal(of job: any AnyManagedJob) {
    let isToWarn = withLock { storage in
      guard !storage.state.isObserved, !storage.hasWarned else { return false }
      storage.hasWarned = true
      return true
    }
    if isToWarn { warn("does not take the task \(job.taskDescription), for it has been stopped. Make a new one.") }
  }

  /// The manager was released, and gave up tasks that had been started. Says so in a line on
  /// standard error. Not called if a stream of events or a sink watched it.
  func warnOfRelease(droppedCount: Int) {
    guard droppedCount > 0 else { return }
    let tasks = droppedCount == 1 ? "a task that has" : "\(droppedCount) tasks that have"
    warn("was released with \(tasks) not ended. Keep the OperationManager as long as it has something to do.")
  }

  private func warn(_ sentence: String) {
    Diagnostics.write(
      "ManagedOperations: \(HarmlessText.line("The manager \(ErrorReport.quoted(name)) \(sentence)"))\n")
  }
}
