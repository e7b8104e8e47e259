import CompositeOperations

// A database that cannot be reached: what runs goes on, and what has ended is written when it is back.

extension QueueCore {
  /// Tells that the database did not do what is needed; once, if nobody can reach it.
  func tellFailure(_ error: any Error) {
    let error = DatabaseError(any: error)
    let failed = withLock { storage in (storage.watch.outage.failed(with: error), storage.watch.outage.number) }
    switch failed {
    case (.known, _): break
    case (.tell, _): events.tell(.databaseFailed(error))
    case (.begin(let cause), let number):
      events.tell(.databaseFailed(error))
      if cause == .noServer, configuration.whenDisconnected == .cancelAfterLease { cancelAfterLease(number) }
    }
  }

  /// The database did what was asked of it.
  ///
  /// - Parameter takesChanges: whether that shows that it takes changes.
  func databaseAnswers(takesChanges: Bool) {
    let (ended, timer) = withLock { storage -> (Outage.Cause?, Timekeeper.Timer?) in
      let ended = storage.watch.outage.succeeded(takesChanges: takesChanges)
      guard ended == .noServer else { return (ended, nil) }
      // The round that failed is not made to wait any longer.
      storage.state.pauseIsOver()
      storage.state.workMayHaveCome()
      storage.failuresInARow = 0
      return (ended, storage.retryTimer.take())
    }
    if let timer { clock.timekeeper.cancel(timer) }
    guard ended == .noServer else { return }
    events.tell(.databaseBack)
    pump()
  }

  /// Others may take over what runs here when the lease is over: they cannot ask.
  private func cancelAfterLease(_ outage: Int) {
    _ = clock.timekeeper.after(configuration.leaseDuration) { [weak self] in
      self?.interruptAll(.lostLease) { storage in
        guard storage.watch.outage.cause != nil, storage.watch.outage.number == outage else { return false }
        // It is given back before anything else is done: if the database is back before others take it over, they never do.
        storage.owedWorker = storage.owedWorker ?? storage.state.worker
        return true
      }
    }
  }

  /// How long to wait until a round that failed is begun anew.
  func pause(afterFailures count: Int, _ error: any Error) -> Duration {
    let longest = Duration.milliseconds(50 << min(count, 7))
    guard Outage.cause(of: DatabaseError(any: error)) == .noServer else { return longest }
    // Many processes come back at the same time.
    var random = configuration.randomNumberGenerator()
    return min(longest, .seconds(5)) * Double.random(in: 0..<1, using: &random)
  }
}
