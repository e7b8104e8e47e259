/// What happens to a job, and what becomes of it.
///
/// This is what a store does, told without a database: its statements are tested against it, in every state. Who may see a job
/// meanwhile, and which jobs an event is for, is the store's to say.
enum JobTransition: Sendable, Equatable {
  // MARK: Before it runs

  /// The time is looked at.
  case comesDue
  /// A process takes it.
  case claimed(worker: Int64)
  /// One of its prerequisites has ended. What it was to do if that failed is a part of it.
  case prerequisiteEnded(PrerequisiteEnd, failing: PrerequisiteFailure)
  /// It has waited too long for a process that knows its kind.
  case givenUp
  /// The clock was set anew, and shows so many milliseconds more than it would have.
  case clockMoved(by: Int64)

  // MARK: The end of an attempt

  /// The attempt that was claimed last has ended. What others have ended is ignored.
  case ended(AttemptEnd)
  /// Its process no longer waits for the attempt.
  case abandoned
  /// The process goes on, and with it the attempt.
  case abandonedNoMore
  /// Its process is lost.
  case lost(WorkerLoss, limit: Int64?)

  // MARK: What users do

  case cancel
  case retry
  case hold
  case delete
  /// Another job with its unique key is to come after it, and waits for it.
  case replacedWhileExecuting

  /// What an attempt has come to.
  enum AttemptEnd: Sendable, Equatable {
    case done(isKept: Bool)
    /// It runs again, after a time or at once.
    case again(after: Duration, isCharged: Bool, hasError: Bool)
    /// It runs again as if this attempt had not been.
    case returned
    case dead
    case held
    case cancelled(hasError: Bool)
  }

  /// What becomes of a job.
  enum Result: Sendable, Equatable {
    case becomes(JobLife)
    case isDeleted
    /// It is as it was: nothing is done to a job in this state.
    case isIgnored
    /// Whoever wants it is told that a job in this state cannot.
    case isRefused
  }

  /// Whether it cannot happen to a job in this state, whatever else is known of it.
  func isRefused(in state: JobState) -> Bool { result(for: JobLife(state: state), now: 0) == .isRefused }

  /// What becomes of a job that this happens to.
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
          job.state = job.runAt.map { $0 > now } == true ? .scheduled : .waiting
        }
        job.blockers -= 1
      }
    }
    return job.becoming { job in
      // Of a prerequisite that is deleted nothing can come any more; another may be retried.
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
    var (isCharged, hasError, endsIfReplaced) = (true, true, true)
    switch end {
    case .done(let isKept): return isKept ? job.becoming { $0.succeed(at: now) } : .isDeleted
    case .dead: state = .dead
    case .held: state = .held
    case .cancelled(let has): (state, isCharged, hasError, endsIfReplaced) = (.cancelled, false, has, false)
    case .returned: (state, isCharged, hasError, endsIfReplaced) = (.waiting, false, false, false)
    case .again(let delay, let charged, let has):
      // No delay is no time: the job would stay behind if the clock was set back.
      if delay > .zero { runAt = now + delay.milliseconds }
      (state, isCharged, hasError) = (runAt == nil ? .waiting : .scheduled, charged, has)
    }
    let isCancelled =
      job.flags.contains(.isCancelRequested) || endsIfReplaced && job.flags.contains(.isReplaced)
    return job.becoming { job in
      job.leaveProcess()
      if end != .returned { job.isAlone = false }
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
        // The second time in a row it may have been the job that ended its process.
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

  /// It has done what it was for: a cancel that was asked for comes too late.
  fileprivate mutating func succeed(at now: Int64) {
    leaveProcess()
    attempts += 1
    runAt = nil
    settle(.done, at: now)
  }

  /// What was asked of the attempt has ended with it.
  fileprivate mutating func leaveProcess() {
    worker = nil
    flags.subtract([.isCancelRequested, .isAbandoned])
  }

  /// With all its attempts before it.
  fileprivate mutating func beginAnew(at now: Int64) {
    (state, runAt, finishedAt) = (blockers > 0 ? .blocked : .waiting, now, nil)
    (attempts, crashes, lapses) = (0, 0, 0)
    isAlone = false
    flags.subtract([.isCancelRequested, .isReplaced])
    flags.insert(.runsAfterDelay)
  }
}
