// How tasks end, one by one or all together.

extension ManagerState {
  /// Takes a task out of whatever it waits for.
  mutating func withdraw(_ id: Int) {
    guard let job = jobs[id] else { return }
    switch job.phase {
    case .delayed, .executing:
      dropTimer(id)
    case .intercepting:
      if intercepted == id { cancelInterception() }
    case .held(let interceptor, _):
      leaveBatch(interceptor)
    case .reacting:
      leaveReactions(id)
    case .waiting:
      line.left()
    case .ready:
      ready.left()
    case .pending, .concluding, .settling:
      break
    }
  }

  /// Decides the outcome.
  mutating func settle(_ id: Int, _ settlement: Settlement) {
    guard let job = jobs[id], job.phase != .settling else { return }
    withdraw(id)
    jobs[id]?.phase = .settling
    effects.actions.append(.settle(job.payload, settlement))
  }

  mutating func removeIfDone(_ id: Int) {
    guard let job = jobs[id], job.isAnnounced, !job.isUnderWay else { return }
    remove(id)
  }

  mutating func remove(_ id: Int) {
    guard let job = jobs.removeValue(forKey: id) else { return }
    effects.gone.append(job.payload)
    if let rare = rareParts.removeValue(forKey: id) { effects.goneAnswers += rare.verdicts.map(\.answer) }
    guard job.isStarted else { return }
    activeCount -= 1
    noteIdle()
  }

  /// A group of tasks was started. It counts as one until it has settled.
  mutating func groupStarted() { activeCount += 1 }

  mutating func groupEnded() {
    activeCount -= 1
    noteIdle()
  }

  mutating func noteIdle() {
    if isIdle { effects.isIdle = true }
  }

  mutating func cancelOperation(_ id: Int) {
    guard let job = jobs[id], job.isUnderWay, !job.cancelsOperation else { return }
    jobs[id]?.cancelsOperation = true
    effects.actions.append(.cancelOperation(job.payload))
  }

  mutating func dropTimer(_ id: Int) {
    guard let job = jobs[id], job.timer != 0 else { return }
    jobs[id]?.timer = 0
    effects.actions.append(.dropTimer(job.payload, number: job.timer))
  }

  /// Takes no more tasks, and asks no interceptor or reactor any more.
  ///
  /// - Returns: the tasks that the caller cancels, in the order in which they were added: all, or all
  ///   but those whose attempt has started if it may end by itself. None if the manager was released:
  ///   then what executes ends normally, and everything else settles here.
  mutating func close(_ closing: Closing) -> [Payload] {
    if self.closing != .released, closing != .stoppedWithGrace || self.closing == nil { self.closing = closing }
    for number in reactions.keys.sorted() { endReaction(number) }
    var cancelled: [Payload] = []
    for (id, job) in jobs.sorted(by: { $0.key < $1.key }) {
      switch job.phase {
      case .executing, .concluding, .settling:
        if closing == .stopped { cancelled.append(job.payload) }
      case .pending, .delayed, .waiting, .intercepting, .held, .ready, .reacting:
        if closing == .released { settle(id, .failed(.managerReleased)) } else { cancelled.append(job.payload) }
      }
    }
    noteIdle()
    return cancelled
  }
}
