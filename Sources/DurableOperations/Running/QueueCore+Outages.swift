import CompositeOperations

// A database that cannot be reached: running jobs go on, and the queue writes their ends when the
// database is back.

extension QueueCore {
  /// Reports a failure of the database; once, if the database cannot be reached. That the queue is
  /// suspended is none.
  func tellFailure(_ error: any Error, in use: Outage.Use) {
    let error = DatabaseError(any: error)
    guard error.code != .suspended else { return }
    let failed = withLock { storage in (storage.watch.outage.failed(with: error, in: use), storage.watch.outage.number)
    }
    switch failed {
    case (.known, _): break
    case (.tell, _): events.tell(.databaseFailed(error))
    case (.log, _): events.report(.databaseFailed(error))
    case (.begin(let cause), let number):
      events.report(.databaseFailed(error))
      if cause == .noServer, configuration.whenDisconnected == .cancelAfterLease { cancelAfterLease(number) }
    }
  }

  /// Notes that the database did its work.
  ///
  /// - Parameter takesChanges: whether this shows that it accepts changes.
  func databaseAnswers(in use: Outage.Use, takesChanges: Bool) {
    let (ended, isOver, timer) = withLock { storage -> (Outage.Cause?, Bool, Timekeeper.Timer?) in
      let ended = storage.watch.outage.succeeded(takesChanges: takesChanges)
      let isOver = storage.watch.outage.isOver(after: use, hasWritten: use == .round && takesChanges)
      guard ended == .noServer else { return (ended, isOver, nil) }
      // The failed round need not wait any longer.
      storage.state.pauseIsOver()
      storage.state.workMayHaveCome()
      storage.failuresInARow = 0
      return (ended, isOver, storage.retryTimer.take())
    }
    if let timer { clock.timekeeper.cancel(timer) }
    if isOver || ended == .noServer { events.report(.databaseBack) }
    if ended == .noServer { pump() }
  }

  /// Other processes may take over the jobs that run here when the lease is over: they cannot ask
  /// this one.
  private func cancelAfterLease(_ outage: Int) {
    _ = clock.timekeeper.after(configuration.leaseDuration) { [weak self] in
      guard let self else { return }
      let executions = withLock { storage -> [Execution] in
        guard storage.watch.outage.cause != nil, storage.watch.outage.number == outage else { return [] }
        // The jobs are returned before anything else: if the database is back before other
        // processes take them over, none does.
        storage.owedWorker = storage.owedWorker ?? storage.state.worker
        return storage.interruptAll(.lostLease)
      }
      for execution in executions { cancel(execution) }
    }
  }

  /// The delay before a failed round is repeated.
  func pause(afterFailures count: Int, _ error: any Error) -> Duration {
    let longest = Duration.milliseconds(50 << min(count, 7))
    guard Outage.cause(of: DatabaseError(any: error)) == .noServer else { return longest }
    // Many processes return at the same time.
    return OperationContext.bindNone {
      var random = configuration.randomNumberGenerator()
      return min(longest, .seconds(5)) * Double.random(in: 0..<1, using: &random)
    }
  }
}
