import CompositeOperations

// Turns, attempts and suspension.

extension ManagerState {
  /// No more attempt starts when the manager is shut down, or gone.
  var mayExecute: Bool { closing == nil && !isSuspended && suspendingCount == 0 && suspendingConclusions.isEmpty }

  /// Tells the engine how many tasks more can execute. Those that it was told of while nothing may execute are told again.
  mutating func issueTickets() {
    guard mayExecute, tickets < ready.count else { return }
    effects.tickets += ready.count - tickets
    tickets = ready.count
  }

  /// The engine has room for one. Nil if there is none after all: it was cancelled, or nothing may execute now.
  mutating func claim() -> (id: Int, payload: Payload)? {
    tickets -= 1
    guard mayExecute, let id = ready.popFirst() else { return nil }
    guard var job = jobs[id], job.phase == .ready else {
      ready.tookEmptyPlace()
      return nil
    }
    guard !isOutdated(id, job) else {
      askAgain(id, job)
      return nil
    }
    tick += 1
    job.phase = .executing
    job.attempt += 1
    job.startTick = tick
    job.isUnderWay = true
    job.cancelsOperation = false
    if let timeout = job.timeout {
      job.timer = nextNumber()
      effects.actions.append(.setTimer(job.payload, number: job.timer, timeout))
    }
    jobs[id] = job
    note(job, .attemptStarted)
    return (id, job.payload)
  }

  /// The operation of the attempt is there. Returns whether it has to be cancelled.
  func isToBeCancelled(_ id: Int) -> Bool { jobs[id]?.cancelsOperation ?? false }

  /// The attempt has ended. Returns the reactors to ask, whose answers ``conclude(_:asks:)`` is told; nil if none is to
  /// be asked.
  ///
  /// - Parameter outcome: how; asked for if somebody watches, or a reactor suspends the queue.
  mutating func attemptEnded(
    _ id: Int, outcome: (Payload) -> Outcome<any Sendable> = { _ in .cancelled }
  ) -> [Int]? {
    guard var job = jobs[id] else { return nil }
    job.isUnderWay = false
    guard job.phase == .executing else {
      jobs[id] = job
      removeIfDone(id)
      return nil
    }
    if job.timer != 0 {
      dropTimer(id)
      job.timer = 0
    }
    note(job, .attemptEnded(outcome(job.payload)))
    var asked: [Int] = []
    if !reactors.isEmpty, !job.cancelsOperation, closing == nil {
      let requeues = rareParts[id]?.requeues ?? [:]
      asked = reactors.indices.filter { requeues[$0, default: 0] < reactors[$0].maxRequeues }
    }
    // In one step, for every attempt comes here.
    job.phase = asked.isEmpty ? .settling : .concluding
    jobs[id] = job
    guard asked.isEmpty else {
      // Until it is known whether one of them reacts, nothing starts that its reaction would keep from starting.
      if asked.contains(where: { reactors[$0].suspendsQueue }), outcome(job.payload).error != nil {
        suspendingConclusions.insert(id)
      }
      return asked
    }
    effects.actions.append(.settle(job.payload, .asLastAttempt))
    return nil
  }

  mutating func setSuspended(_ isSuspended: Bool) {
    self.isSuspended = isSuspended
    issueTickets()
  }
}
