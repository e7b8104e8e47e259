import CompositeOperations

// The drain: one Swift task that asks the interceptors about one managed task after the other.

extension ManagerCore {
  /// After how many tasks it yields its thread.
  private static let turn = 64

  func startDrain(_ number: Int) {
    let task = Task.detached(priority: .prompt) { [self] in await drain(number) }
    let isNeeded = withLock { storage in
      guard storage.state.drain == number, !storage.state.drainIsCancelled else { return false }
      storage.drainTask = (number, task)
      return true
    }
    // It has ended, or has to. Cancelling an ended one does nothing.
    if !isNeeded { task.cancel() }
  }

  func cancelDrain(_ number: Int) {
    withLock { $0.drainTask?.number == number ? $0.drainTask.take()?.task : nil }?.cancel()
  }

  private func drain(_ number: Int) async {
    var count = 0
    while let (_, job) = input({ $0.nextToIntercept(drain: number) }) {
      await OperationContext.bind(context(of: job)) { await job.intercept(in: self, drain: number) }
      count += 1
      if count % Self.turn == 0 { await Task.yield() }
    }
    // Unless another drain has begun, which uses the timer.
    if let timer = withLock({ $0.state.drain == nil ? $0.watch.stop() : nil }) { timekeeper.cancel(timer) }
  }

  func interceptionFailed(of id: Int, drain: Int, interceptor: Int, _ error: any Error) {
    change { storage in
      storage.watch.end(drain: drain, id: id)
      storage.state.interceptionFailed(id, drain: drain, interceptor: interceptor, error)
    }
  }

  // MARK: - Time

  /// An interceptor is about to be asked. Returns how many tasks it holds.
  func beginQuestion(to interceptor: Int, about id: Int, drain: Int) -> Int {
    let deadline = interceptors[interceptor].timeout.map { timekeeper.now + $0 }
    let question = InterceptionWatch.Question(drain: drain, id: id, interceptor: interceptor, deadline: deadline)
    let (count, alarm) = withLock { storage in
      let alarm = storage.state.drain == drain ? storage.watch.begin(question) : nil
      return (storage.state.batches[interceptor].count, alarm)
    }
    if let alarm { setWatch(alarm) }
    return count
  }

  /// It has answered. Returns whether that still counts.
  func endQuestion(about id: Int, drain: Int) -> Bool {
    withLock { storage in
      storage.watch.end(drain: drain, id: id)
      return storage.state.isIntercepting(id, drain: drain)
    }
  }

  private func setWatch(_ time: Timekeeper.Time) {
    let timer = timekeeper.at(time) { [weak self] in self?.watchIsDue(time) }
    if let unneeded = withLock({ $0.watch.keep(timer, for: time) }) { timekeeper.cancel(unneeded) }
  }

  private func watchIsDue(_ time: Timekeeper.Time) {
    let now = timekeeper.now
    let alarm = change { storage in
      let (late, alarm) = storage.watch.due(time, now: now)
      if let late {
        storage.state.interceptionTimedOut(late.id, drain: late.drain, interceptor: late.interceptor)
      }
      return alarm
    }
    if let alarm { setWatch(alarm) }
  }
}

/// Which interceptor is being asked, and the timer that watches it.
///
/// Most interceptors answer at once, so there is no timer for each question. One timer stays set as
/// long as there is something to ask; when it is due, it looks which question is open by then.
struct InterceptionWatch {
  struct Question {
    let drain: Int
    let id: Int
    let interceptor: Int
    /// Nil: without a limit.
    let deadline: Timekeeper.Time?
  }

  private var question: Question?
  /// When the timer is due; nil if none is set.
  private var alarm: Timekeeper.Time?
  /// That timer, once it is set.
  private var timer: Timekeeper.Timer?

  /// A question begins. Returns the time to set a timer for, if one is needed.
  mutating func begin(_ question: Question) -> Timekeeper.Time? {
    self.question = question
    return neededAlarm()
  }

  mutating func end(drain: Int, id: Int) {
    if let question, question.drain == drain, question.id == id { self.question = nil }
  }

  /// A timer was set. Returns the one to cancel: one that it replaces, or itself if it is no longer
  /// needed.
  mutating func keep(_ timer: Timekeeper.Timer, for time: Timekeeper.Time) -> Timekeeper.Timer? {
    guard alarm == time else { return timer }
    defer { self.timer = timer }
    return self.timer
  }

  /// There is nothing more to ask. Returns the timer to cancel.
  mutating func stop() -> Timekeeper.Timer? {
    (question, alarm) = (nil, nil)
    return timer.take()
  }

  /// A timer is due. Returns the question whose time has passed, if it has, and the time to set a
  /// timer for.
  mutating func due(_ time: Timekeeper.Time, now: Timekeeper.Time) -> (late: Question?, alarm: Timekeeper.Time?) {
    guard alarm == time else { return (nil, nil) }
    alarm = nil
    if let question, let deadline = question.deadline, deadline <= now {
      self.question = nil
      return (question, nil)
    }
    return (nil, neededAlarm())
  }

  /// The time of the open question, unless a timer is due before.
  private mutating func neededAlarm() -> Timekeeper.Time? {
    guard let deadline = question?.deadline else { return nil }
    if let alarm, alarm <= deadline { return nil }
    alarm = deadline
    return deadline
  }
}
