import CompositeOperations

// Turns, attempts and reactions.

extension ManagerState {
  var mayExecute: Bool { closing == nil && !isSuspended && suspendingCount == 0 && suspendingConclusions.isEmpty }

  /// Tells the engine how many more tasks can execute. Tickets that it used while nothing might
  /// execute are issued again.
  mutating func issueTickets() {
    guard mayExecute, tickets < ready.count else { return }
    effects.tickets += ready.count - tickets
    tickets = ready.count
  }

  /// The engine has room for a task. Nil if there is none: it was cancelled, or nothing may execute
  /// now.
  mutating func claim() -> (id: Int, payload: Payload)? {
    tickets -= 1
    guard mayExecute, let id = ready.popFirst() else { return nil }
    guard var job = jobs[id], job.phase == .ready else {
      ready.tookEmptyPlace()
      return nil
    }
    guard !isOutdated(id, job) else {
      // It goes back to the interceptors, and stays ahead of others.
      job.interception = .askedAgain
      waitForInterceptors(id, job, isUrgent: true)
      return nil
    }
    tick += 1
    job.attempt += 1
    job.startTick = tick
    var execution = Execution()
    if let timeout = job.timeout {
      let timer = nextNumber()
      execution.timer = timer
      effects.actions.append(.setTimer(job.payload, number: timer, timeout))
    }
    move(id, job, to: .executing(execution))
    note(job, .attemptStarted)
    return (id, job.payload)
  }

  /// The operation of the attempt is known. Returns whether it has to be cancelled.
  func isToBeCancelled(_ id: Int) -> Bool {
    switch jobs[id]?.phase {
    case .executing(let execution): execution.isCancelled
    case .settling: true
    case nil, .pending, .delayed, .waiting, .intercepting, .held, .ready, .concluding, .reacting: false
    }
  }

  /// The attempt has ended. Returns the reactors to ask, whose answers ``conclude(_:asks:)`` takes;
  /// nil if there is none.
  ///
  /// - Parameter outcome: how; asked for if there are streams, or if a reactor suspends the queue.
  mutating func attemptEnded(
    _ id: Int, outcome: (Payload) -> Outcome<any Sendable> = { _ in .cancelled }
  ) -> [Int]? {
    guard let job = jobs[id] else { return nil }
    switch job.phase {
    case .executing(let execution):
      if let timer = execution.timer { effects.actions.append(.dropTimer(job.payload, number: timer)) }
      note(job, .attemptEnded(outcome(job.payload)))
      let asked = execution.isCancelled ? [] : reactorsToAsk(about: id)
      move(id, job, to: asked.isEmpty ? .settling(.handle) : .concluding)
      guard !asked.isEmpty else {
        effects.actions.append(.settle(job.payload, .asLastAttempt))
        return nil
      }
      // Until it is known whether one of them reacts, nothing starts that its reaction would hold
      // back.
      if asked.contains(where: { reactors[$0].suspendsQueue }), outcome(job.payload).error != nil {
        suspendingConclusions.insert(id)
      }
      return asked
    case .settling(.operation):
      remove(id)
    case .settling(.handleAndOperation):
      move(id, job, to: .settling(.handle))
    case .pending, .delayed, .waiting, .intercepting, .held, .ready, .concluding, .reacting, .settling(.handle):
      preconditionFailure("An attempt of task \(id) ended in the phase \(job.phase).")
    }
    return nil
  }

  private func reactorsToAsk(about id: Int) -> [Int] {
    guard !reactors.isEmpty, closing == nil else { return [] }
    let requeues = rareParts[id]?.requeues ?? [:]
    return reactors.indices.filter { requeues[$0, default: 0] < reactors[$0].maxRequeues }
  }

  mutating func setSuspended(_ isSuspended: Bool) {
    self.isSuspended = isSuspended
    issueTickets()
  }

  // MARK: - Reactions

  /// The reactors have been asked about the end of an attempt.
  ///
  /// - Parameter asks: the reactors that want to react, each with what it shares its reactions by.
  mutating func conclude(_ id: Int, asks: [(reactor: Int, key: String?)]) {
    let mayHaveSuspended = suspendingConclusions.remove(id) != nil
    defer { if mayHaveSuspended { issueTickets() } }
    guard let job = jobs[id], job.phase == .concluding else { return }
    guard !asks.isEmpty, closing == nil else { return settle(id, .asLastAttempt) }
    move(id, job, to: .reacting)
    for ask in asks {
      let key = ask.key.map { ReactionKey(reactor: ask.reactor, key: $0) }
      if let key, let number = running[key] {
        reactions[number]?.members.append(id)
        rareParts[id, default: RareParts()].openReactions.insert(number)
        note(job, .joinedReaction(reactor: ask.reactor, key: ask.key))
      } else if let key, let last = lastRequeues[key], madeReady(job, for: ask.reactor) < last.end {
        rareParts[id, default: RareParts()].verdicts.append((ask.reactor, .answered(.requeue(after: last.delay))))
      } else {
        startReaction(of: ask.reactor, key: ask.key, for: id, job)
      }
    }
    decideIfComplete(id)
  }

  /// When the attempt got what it was made with: at its start, unless interceptors that change
  /// tasks are asked again after a reaction. These may have asked for that, a token for example,
  /// long before the attempt started.
  private func madeReady(_ job: Job, for reactor: Int) -> Int {
    guard reactors[reactor].reinterceptsOnRequeue, !interceptorsOnlyHold else { return job.startTick }
    return job.interceptTick ?? job.startTick
  }

  private mutating func startReaction(of reactor: Int, key: String?, for id: Int, _ job: Job) {
    let number = nextNumber()
    reactions[number] = RunningReaction(reactor: reactor, key: key, members: [id])
    if let key { running[ReactionKey(reactor: reactor, key: key)] = number }
    if reactors[reactor].suspendsQueue { suspendingCount += 1 }
    rareParts[id, default: RareParts()].openReactions.insert(number)
    effects.actions.append(.startReaction(number, reactor: reactor, key: key, job.payload, attempt: job.attempt))
    note(job, .reacting(reactor: reactor, key: key))
  }

  /// A reactor has answered, or its time has passed.
  mutating func reactionEnded(_ number: Int, _ answer: ReactionAnswer) {
    guard let reaction = endReaction(number) else { return }
    tick += 1
    if case .answered(.requeue(let delay)) = answer, let key = reaction.key {
      lastRequeues[ReactionKey(reactor: reaction.reactor, key: key)] = (tick, delay)
      if reactors[reaction.reactor].reinterceptsOnRequeue { lastReinterception = tick }
      sweep()
    }
    for id in reaction.members {
      guard rareParts[id]?.openReactions.remove(number) != nil else { continue }
      rareParts[id]?.verdicts.append((reaction.reactor, answer))
      decideIfComplete(id)
    }
    // After them, so that requeued tasks come first.
    issueTickets()
    noteIdle()
  }

  /// It is no longer under way.
  @discardableResult
  mutating func endReaction(_ number: Int) -> RunningReaction? {
    guard let reaction = reactions.removeValue(forKey: number) else { return nil }
    if let key = reaction.key { running[ReactionKey(reactor: reaction.reactor, key: key)] = nil }
    if reactors[reaction.reactor].suspendsQueue { suspendingCount -= 1 }
    effects.actions.append(.cancelReaction(number))
    return reaction
  }

  private mutating func decideIfComplete(_ id: Int) {
    guard jobs[id]?.phase == .reacting, let rare = rareParts[id], rare.openReactions.isEmpty else { return }
    let verdicts = rare.verdicts.sorted { $0.reactor < $1.reactor }
    rareParts[id]?.verdicts = []
    effects.goneAnswers += verdicts.map(\.answer)
    for verdict in verdicts {
      guard let failure = failure(of: verdict) else { continue }
      return settle(id, failure)
    }
    var delay: Duration?
    var reintercepts = false
    for case (let reactor, .answered(.requeue(let after))) in verdicts {
      rareParts[id]?.requeues[reactor, default: 0] += 1
      delay = max(delay ?? .zero, after)
      if reactors[reactor].reinterceptsOnRequeue { reintercepts = true }
    }
    guard let delay else { return settle(id, .asLastAttempt) }
    requeue(id, after: delay, reintercepts: reintercepts)
  }

  private func failure(of verdict: (reactor: Int, answer: ReactionAnswer)) -> Settlement? {
    switch verdict.answer {
    case .answered(.fail(let error)): .error(error)
    case .answered(.deliver), .answered(.requeue): nil
    case .threw(let error): .thrown(error, as: .reactionFailed, by: .reactor(verdict.reactor))
    case .timedOut: .managed(.reactionTimedOut, by: .reactor(verdict.reactor))
    }
  }

  private mutating func requeue(_ id: Int, after delay: Duration, reintercepts: Bool) {
    guard var job = jobs[id] else { return }
    note(job, .requeued(after: delay))
    job.isUrgent = true
    job.interception = reintercepts ? .needed : .passed
    enter(id, job, after: delay)
  }

  /// A task no longer waits for its reactions. A reaction for it alone is cancelled; others go on,
  /// for later tasks of the key.
  mutating func leaveReactions(_ id: Int) {
    guard let open = rareParts[id]?.openReactions, !open.isEmpty else { return }
    rareParts[id]?.openReactions = []
    for number in open {
      guard reactions[number]?.key == nil else { continue }
      endReaction(number)
    }
    issueTickets()
    noteIdle()
  }

  /// Now and then forgets ends of reactions that are older than all tasks.
  private mutating func sweep() {
    guard lastRequeues.count >= sweepsAt else { return }
    let oldest = jobs.values.lazy.compactMap { job -> Int? in
      switch job.phase {
      case .executing, .concluding: job.interceptTick ?? job.startTick
      default: job.interceptTick
      }
    }.min()
    lastRequeues = lastRequeues.filter { $0.value.end > oldest ?? .max }
    sweepsAt = max(64, 2 * lastRequeues.count)
  }
}
