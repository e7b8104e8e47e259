// Reactions: who waits for which, and what their answers lead to.

extension ManagerState {
  /// The reactors have been asked about the end of an attempt.
  ///
  /// - Parameter asks: those that want to react, each with what it shares its reactions by.
  mutating func conclude(_ id: Int, asks: [(reactor: Int, key: String?)]) {
    let mayHaveSuspended = suspendingConclusions.remove(id) != nil
    defer { if mayHaveSuspended { issueTickets() } }
    guard var job = jobs[id], job.phase == .concluding else { return }
    guard !asks.isEmpty, closing == nil else { return settle(id, .asLastAttempt) }
    job.phase = .reacting
    jobs[id] = job
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

  /// From when what the attempt was made with is. Interceptors that are asked again after a reaction may have asked for it, a
  /// token for example, long before the attempt started.
  private func madeReady(_ job: Job, for reactor: Int) -> Int {
    reactors[reactor].reinterceptsOnRequeue ? job.interceptTick ?? job.startTick : job.startTick
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

  /// A reactor has answered, or has had its time.
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
    // After them, so that those that are requeued come first.
    issueTickets()
    noteIdle()
  }

  /// It is not under way any more.
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
      return settle(id, .failed(failure))
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

  private func failure(of verdict: (reactor: Int, answer: ReactionAnswer)) -> Failure? {
    switch verdict.answer {
    case .answered(.fail(let error)): .error(error)
    case .answered(.deliver), .answered(.requeue): nil
    case .threw(let error):
      error is CancellationError ? .error(error) : .reactionFailed(reactor: verdict.reactor, error)
    case .timedOut: .reactionTimedOut(reactor: verdict.reactor)
    }
  }

  private mutating func requeue(_ id: Int, after delay: Duration, reintercepts: Bool) {
    guard var job = jobs[id] else { return }
    note(job, .requeued(after: delay))
    job.isUrgent = true
    job.needsInterception = reintercepts
    guard delay > .zero else { return enter(id, job) }
    job.phase = .delayed(isRequeued: true)
    job.timer = nextNumber()
    effects.actions.append(.setTimer(job.payload, number: job.timer, delay))
    jobs[id] = job
  }

  /// A task does not wait for its reactions any more. One that is for it alone is cancelled; others go on, for whoever comes
  /// next.
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

  /// Forgets ends of reactions before which nothing can have been made ready any more, now and then.
  private mutating func sweep() {
    guard lastRequeues.count >= sweepsAt else { return }
    let oldest = jobs.values.lazy.compactMap { job in
      job.interceptTick ?? (job.phase == .executing || job.phase == .concluding ? job.startTick : nil)
    }.min()
    lastRequeues = lastRequeues.filter { $0.value.end > oldest ?? .max }
    sweepsAt = max(64, 2 * lastRequeues.count)
  }
}
