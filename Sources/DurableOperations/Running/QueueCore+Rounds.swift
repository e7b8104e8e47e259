import CompositeOperations
import Foundation

// Rounds, which write the ends of attempts and claim jobs.

extension QueueCore {
  /// Begins a round, if there is something to do.
  func pump() {
    let (round, unneeded) = withLock { ($0.state.nextRound(), $0.state.takeUnneededPlaces()) }
    giveBack(unneeded)
    guard let round else { return }
    database.async { [self] store in
      var round = round
      do {
        round.acknowledgements = try giveBackOwedJobs(after: round.acknowledgements, in: store)
        try perform(round, in: store)
      } catch {
        fail(round, with: error)
      }
    }
  }

  private func perform(_ round: RunnerState.Round, in store: any StoreSession) throws {
    let answer = try store.round(
      StoreRound(
        acknowledgements: round.acknowledgements, keepsDone: keepsDone,
        request: { [self] in request(for: round) },
        // The current worker, not the one at the begin of the round: a look in between may have
        // found it lost.
        worker: withLock { $0.state.worker }, lease: configuration.leaseDuration, isLast: round.isLast,
        ahead: round.acknowledgements.isEmpty ? nil : whatIsAhead))
    databaseAnswers(in: .round, takesChanges: !answer.hasOnlyRead)
    let claim = answer.claim
    if answer.hasLostWorker { cancelElsewhere(withLock { $0.interruptAll(.lostLease) }) }
    let (places, executions, stops, graceTimer) = withLock { storage in
      storage.failuresInARow = 0
      if let rules = answer.rules { storage.state.setRules(rules) }
      let places = storage.state.roundSucceeded(
        round, claim: claim, hasFreed: answer.hasFreed, worker: answer.worker)
      let executions = claim.jobs.map { storage.add($0) }
      for execution in executions { execution.core = self }
      for (execution, place) in zip(executions, round.places) {
        execution.place = storage.places.removeValue(forKey: place)
      }
      let isIdle = storage.state.phase == .idle
      return (
        places, executions, isIdle ? storage.takeStopWaiters() : [], isIdle ? storage.grace.take()?.timer : nil
      )
    }
    // One without a registration makes no attempt.
    for execution in executions where execution.registration != nil {
      events.tell(.started(execution.job.id, kind: execution.kindName, attempt: execution.attempt))
    }
    run(executions)
    giveBack(places.unneeded)
    ask(for: places.asked)
    if let graceTimer { clock.timekeeper.cancel(graceTimer) }
    end(stops)
    if !claim.jobs.isEmpty, let pause = longestPause { setAlarm(in: pause) }
    if answer.isHeldUp { setAlarm(in: Self.pauseWhenHeldUp) }
    if let ahead = answer.ahead { lookAhead(ahead, in: store) }
    pump()
  }

  /// What a round may claim at this moment: since it began, kinds may have been paused, or the
  /// queue stopped.
  private func request(for round: RunnerState.Round) -> ClaimRequest? {
    let claimable = withLock { storage -> [(kind: Int64, limit: Int)]? in
      let (registered, paused) = (storage.registrations, storage.state.rules.paused)
      return storage.state.phase == .running
        ? round.claimable?.filter { registered[$0.kind] != nil && !paused.contains($0.kind) } : nil
    }
    guard let claimable else { return nil }
    // The user's queue may have been suspended since it started the places: other processes may run
    // the jobs.
    let isHeldBack = configuration.operationQueue?.isSuspended == true
    return ClaimRequest(
      kinds: claimable, limit: isHeldBack ? 0 : round.limit, isOnline: network.isOnline, mayRunAlone: round.mayRunAlone,
      furtherLimit: round.furtherLimit + (isHeldBack ? round.limit : 0))
  }

  /// Handles a failed round: it is repeated after a delay.
  private func fail(_ round: RunnerState.Round, with error: any Error) {
    tellFailure(error, in: .round)
    giveBack(round.places)
    let (failures, unwritten, stops, graceTimer) = withLock {
      storage -> (Int?, [Acknowledgement], [WaitingStop], Timekeeper.Timer?) in
      storage.failuresInARow += 1
      storage.state.roundFailed(round)
      // A stop does not wait for a disk for ever. What could not be written is written after the
      // next start, or the jobs run again in another process.
      if round.isLast, storage.state.phase == .stopping, storage.failuresInARow >= 3 {
        storage.state.giveUp()
        return (nil, storage.state.acknowledgements, storage.takeStopWaiters(), storage.grace.take()?.timer)
      }
      return (storage.failuresInARow, [], [], nil)
    }
    tellUnwritten(unwritten, error)
    if let graceTimer { clock.timekeeper.cancel(graceTimer) }
    end(stops)
    // The places that started meanwhile.
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    guard let failures, withLock({ $0.suspension == nil }) else { return }
    // Under no lock: the generator of random numbers may be the user's.
    let timer = clock.timekeeper.after(pause(afterFailures: failures, error)) { [self] in
      withLock { storage in
        storage.retryTimer = nil
        storage.state.pauseIsOver()
      }
      pump()
    }
    let isUnneeded = withLock { storage in
      guard storage.suspension == nil else { return true }
      storage.retryTimer = timer
      return false
    }
    if isUnneeded { clock.timekeeper.cancel(timer) }
  }
}
