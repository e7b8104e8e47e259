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

  /// No task is taken any more, and no interceptor or reactor is asked. Returns those there are, in the order in which they
  /// were added.
  ///
  /// Released: what executes ends normally, everything else settles. Shut down: the caller cancels all of them.
  mutating func close(_ closing: Closing) -> [Payload] {
    if self.closing != .released { self.closing = closing }
    let all = jobs.sorted { $0.key < $1.key }
    for number in reactions.keys.sorted() { endReaction(number) }
    if closing == .released {
      for (id, job) in all {
        switch job.phase {
        case .executing, .concluding, .settling: break
        case .pending, .delayed, .waiting, .intercepting, .held, .ready, .reacting:
          settle(id, .failed(.managerReleased))
        }
      }
    }
    noteIdle()
    return all.map(\.value.payload)
  }
}
