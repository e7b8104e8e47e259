/// An event in the life of a job, and its result.
///
/// This is the model of the stores, without a database: tests compare their statements with it in
/// every state. The store decides who may see a job meanwhile, and which jobs an event is for.
enum JobTransition: Sendable, Equatable {
  // MARK: Before it runs

  /// The store looks at the time.
  case comesDue
  /// A process claims the job.
  case claimed(worker: Int64)
  /// A prerequisite has ended. The event carries the job's own choice for a failure.
  case prerequisiteEnded(PrerequisiteEnd, failing: PrerequisiteFailure)
  /// The job has waited too long for a process that knows its kind.
  case givenUp
  /// The clock was set, and is this many milliseconds ahead of where it would be.
  case clockMoved(by: Int64)

  // MARK: The end of an attempt

  /// The last claimed attempt has ended. The ends of earlier ones are ignored.
  case ended(AttemptEnd)
  /// The process no longer waits for the attempt.
  case abandoned
  /// The process continues, and with it the attempt.
  case abandonedNoMore
  /// The process is lost.
  case lost(WorkerLoss, limit: Int64?)

  // MARK: What users do

  case cancel
  case retry
  case hold
  case delete
  /// Another job with the same unique key will run after this one and waits for it.
  case replacedWhileExecuting

  /// The end of an attempt.
  enum AttemptEnd: Sendable, Equatable {
    case done(isKept: Bool)
    /// The job runs again, after a delay or at once.
    case again(after: Duration, isCharged: Bool, hasError: Bool)
    /// The job runs again after a delay, as if this attempt had not happened.
    case postponed(after: Duration)
    /// The job runs again as if this attempt had not happened.
    case returned
    case dead
    case held
    case cancelled(hasError: Bool)
  }

  /// The result for the job.
  enum Result: Sendable, Equatable {
    case becomes(JobLife)
    case isDeleted
    /// The job is unchanged: the event has no effect in this state.
    case isIgnored
    /// The call fails: the state of the job does not allow it.
    case isRefused
  }

  /// Whether the event is impossible in this state, whatever the other values of the job.
  func isRefused(in state: JobState) -> Bool { result(for: JobLife(state: state), now: 0) == .isRefused }

  /// The result of the event for a job.
  func result(for job: JobLife, now: Int64) -> Result {
    switch self {
    case .comesDue:
      guard job.state == .scheduled, let runAt = job.runAt, runAt <= now else { return .isIgnored }
      return job.becoming { $0.state = .waiting }
    case .claimed(let worker):
      guard job.state == .waiting else { return .isIgnored }
      return job.becoming {
        $0.state = .executing
        $0.worker = worker
        $0.claim += 1
        $0.startedAt = now
      }
    case .prerequisiteEnded(let end, let failing): return afterPrerequisite(end, failing, job, now: now)
    case .givenUp:
      guard job.state == .waiting else { return .isIgnored }
      return job.becoming { $0.settle(.dead, at: now) }
    case .clockMoved(let jump):
      guard [.scheduled, .blocked, .held].contains(job.state), job.flags.contains(.runsAfterDelay), job.runAt != nil
      else { return .isIgnored }
      return job.becoming { $0.runAt? += jump }
    case .ended(let end): return job.state == .executing ? after(end, job, now: now) : .isIgnored
    case .abandoned:
      return job.state == .executing ? job.becoming { $0.flags.insert(.isAbandoned) } : .isIgnored
    case .abandonedNoMore:
      return job.state == .executing ? job.becoming { $0.flags.remove(.isAbandoned) } : .isIgnored
    case .lost(let loss, let limit):
      return job.state == .executing ? after(loss, limit: limit, job, now: now) : .isIgnored
    case .cancel: return cancelling(job, now: now)
    case .retry:
      guard [.scheduled, .held, .cancelled, .dead].contains(job.state) else { return .isRefused }
      return job.becoming { $0.beginAnew(at: now) }
    case .hold:
      guard [.waiting, .scheduled, .blocked, .held].contains(job.state) else { return .isRefused }
      return job.becoming { $0.state = .held }
    case .delete: return job.state == .executing ? .isRefused : .isDeleted
    case .replacedWhileExecuting:
      return job.state == .executing ? job.becoming { $0.flags.formUnion([.isReplaced, .hasDependents]) } : .isIgnored
    }
  }

  private func cancelling(_ job: JobLife, now: Int64) -> Result {
    switch job.state {
    case .cancelled: .isIgnored
    case .done, .dead: .isRefused
    case .executing: job.becoming { $0.flags.insert(.isCancelRequested) }
    case .waiting, .scheduled, .blocked, .held: job.becoming { $0.settle(.cancelled, at: now) }
    }
  }

  private func afterPrerequisite(
    _ end: PrerequisiteEnd, _ failing: PrerequisiteFailure, _ job: JobLife, now: Int64
  ) -> Result {
    if end == .done || failing == .run {
      return job.becoming { job in
        if job.state == .blocked, job.blockers <= 1 {
          let runAt = max(job.runAt ?? now, now)
          (job.state, job.runAt) = (runAt > now ? .scheduled : .waiting, runAt)
        }
        job.blockers -= 1
      }
    }
    return job.becoming { job in
      // A deleted prerequisite can no longer be done; a failed one may be retried.
      let isToFail = end == .deleted || failing != .wait
      if isToFail, job.state == .blocked || job.state == .held {
        job.settle(failing == .die ? .dead : .cancelled, at: now)
      }
      if end == .deleted { job.blockers -= 1 }
    }
  }

  private func after(_ end: AttemptEnd, _ job: JobLife, now: Int64) -> Result {
    let state: JobState
    var runAt: Int64?
    var (isCharged, hasError, endsIfReplaced, keepsLane) = (true, true, true, false)
    switch end {
    case .done(let isKept): return isKept ? job.becoming { $0.succeed(at: now) } : .isDeleted
    case .dead: state = .dead
    case .held: state = .held
    case .cancelled(let has): (state, isCharged, hasError, endsIfReplaced) = (.cancelled, false, has, false)
    case .postponed(let delay):
      runAt = now + delay.milliseconds
      (state, isCharged, hasError, keepsLane) = (.scheduled, false, false, true)
    case .returned: (state, isCharged, hasError, endsIfReplaced, keepsLane) = (.waiting, false, false, false, true)
    case .again(let delay, let charged, let has):
      // Without a delay there is no time: otherwise the job would stay behind if the clock was set
      // back.
      if delay > .zero { runAt = now + delay.milliseconds }
      (state, isCharged, hasError) = (runAt == nil ? .waiting : .scheduled, charged, has)
    }
    let isCancelled =
      job.flags.contains(.isCancelRequested) || endsIfReplaced && job.flags.contains(.isReplaced)
    return job.becoming { job in
      job.leaveProcess()
      if !keepsLane { job.isAlone = false }
      if case .again = end { (job.crashes, job.lapses) = (0, 0) }
      if isCharged { job.attempts += 1 }
      if hasError { job.flags.insert(.hasErrors) }
      job.flags.insert(.runsAfterDelay)
      (job.state, job.runAt, job.finishedAt) = (state, runAt, nil)
      if isCancelled { (job.state, job.runAt) = (.cancelled, nil) }
      if job.state == .cancelled || state == .dead { job.finishedAt = now }
    }
  }

  private func after(_ loss: WorkerLoss, limit: Int64?, _ job: JobLife, now: Int64) -> Result {
    let isCharged = !job.flags.contains(.isAbandoned)
    let isCancelled = job.flags.contains(.isCancelRequested)
    return job.becoming { job in
      job.leaveProcess()
      var isTooMuch = false
      switch loss {
      case .stoodStill: break
      case .crashed where isCharged:
        job.crashes += 1
        job.isAlone = true
        isTooMuch = limit.map { job.crashes >= $0 } ?? false
      case .lapsed where isCharged:
        // After the second loss in a row, the job may have ended its process.
        if job.lapses > 0 { job.isAlone = true }
        job.lapses += 1
        isTooMuch = limit.map { job.lapses >= $0 } ?? false
      case .crashed, .lapsed: break
      }
      (job.state, job.finishedAt) = (.waiting, nil)
      if isCancelled { job.settle(.cancelled, at: now) } else if isTooMuch { job.settle(.dead, at: now) }
    }
  }
}

extension JobLife {
  fileprivate func becoming(_ change: (inout JobLife) -> Void) -> JobTransition.Result {
    var job = self
    change(&job)
    return .becomes(job)
  }

  fileprivate mutating func settle(_ state: JobState, at now: Int64) {
    (self.state, finishedAt) = (state, now)
  }

  /// The job has done its work: a cancel request comes too late.
  fileprivate mutating func succeed(at now: Int64) {
    leaveProcess()
    attempts += 1
    runAt = nil
    settle(.done, at: now)
  }

  /// Clears the requests that ended with the attempt.
  fileprivate mutating func leaveProcess() {
    worker = nil
    flags.subtract([.isCancelRequested, .isAbandoned])
  }

  /// Resets the attempts.
  fileprivate mutating func beginAnew(at now: Int64) {
    // No job has the place of an ended one. One that is to run goes before the job in its place.
    if state.isSettled { flags.remove(.isReplaced) }
    flags.remove(.isCancelRequested)
    (state, runAt, finishedAt) = (blockers > 0 ? .blocked : .waiting, now, nil)
    (attempts, crashes, lapses) = (0, 0, 0)
    isAlone = false
    flags.insert(.runsAfterDelay)
  }
}
