// The line in front of the interceptors, and their batches.

extension ManagerState {
  mutating func startDrainIfNeeded() {
    guard closing == nil, drain == nil, !line.isEmpty else { return }
    let number = nextNumber()
    drain = number
    drainIsCancelled = false
    effects.actions.append(.startDrain(number))
  }

  mutating func waitForInterceptors(_ id: Int, _ job: Job, isUrgent: Bool) {
    if line.isSparse {
      let jobs = jobs
      line.compact { jobs[$0]?.phase == .waiting }
    }
    move(id, job, to: .waiting)
    line.append(id, isUrgent: isUrgent)
    startDrainIfNeeded()
  }

  /// The next task to ask the interceptors about. Nil: the drain ends.
  mutating func nextToIntercept(drain number: Int) -> (id: Int, payload: Payload)? {
    guard drain == number else { return nil }
    intercepted = nil
    if closing == nil, !drainIsCancelled {
      while let id = line.popFirst() {
        guard var job = jobs[id], job.phase == .waiting else {
          line.tookEmptyPlace()
          continue
        }
        tick += 1
        job.interceptTick = tick
        move(id, job, to: .intercepting)
        intercepted = id
        return (id, job.payload)
      }
    }
    // A Swift task that was cancelled stays cancelled: another one goes on.
    drain = nil
    startDrainIfNeeded()
    return nil
  }

  /// Whether the answers about a task count: it was neither cancelled nor settled, and the drain
  /// was not given up.
  func isIntercepting(_ id: Int, drain number: Int) -> Bool {
    drain == number && intercepted == id && !drainIsCancelled
  }

  /// The interceptors have answered. Does nothing if the task was cancelled or has timed out
  /// meanwhile.
  ///
  /// - Parameter outdatingKeys: what is shared by the reactions that would outdate the answers.
  /// - Returns: where it is held, if it is.
  @discardableResult
  mutating func intercepted(
    _ id: Int, drain number: Int, _ answer: InterceptAnswer, outdatingKeys: [ReactionKey] = []
  ) -> HeldPlace? {
    guard isIntercepting(id, drain: number), var job = jobs[id] else { return nil }
    intercepted = nil
    let isAskedAgain = job.interception == .askedAgain
    job.interception = .passed
    if !outdatingKeys.isEmpty || rareParts[id] != nil {
      rareParts[id, default: RareParts()].outdatingKeys = outdatingKeys
    }
    if isAskedAgain, answer.command != .discard {
      makeReady(id, job, isUrgent: true)
      return nil
    }
    switch answer.command.value {
    case .execute, .forceExecute, .pass:
      let isUrgent = execute(released(by: answer.releasing), isUrgent: job.isUrgent)
      makeReady(id, job, isUrgent: isUrgent)
    case .hold:
      if !answer.releasing.isEmpty {
        rareParts[id, default: RareParts()].releasing = answer.releasing.map { ($0, batches[$0].generation) }
      }
      let number = nextNumber()
      move(id, job, to: .held(interceptor: answer.decider, number: number))
      batches[answer.decider].append((id, number))
      note(job, .held(interceptor: answer.decider))
      return HeldPlace(
        interceptor: answer.decider, number: number, filling: batches[answer.decider].generation)
    case .discard:
      settle(id, .managed(.discarded, by: .interceptor(answer.decider)))
    }
    return nil
  }

  /// One of the interceptors threw an error.
  mutating func interceptionFailed(_ id: Int, drain number: Int, interceptor: Int, _ error: any Error) {
    guard isIntercepting(id, drain: number) else { return }
    intercepted = nil
    settle(id, .thrown(error, as: .interceptionFailed, by: .interceptor(interceptor)))
  }

  /// One of the interceptors did not answer in time. This drain is given up, and another one goes
  /// on.
  mutating func interceptionTimedOut(_ id: Int, drain number: Int, interceptor: Int) {
    guard drain == number, intercepted == id else { return }
    effects.actions.append(.cancelDrain(number))
    drain = nil
    intercepted = nil
    settle(id, .managed(.interceptionTimedOut, by: .interceptor(interceptor)))
    startDrainIfNeeded()
  }

  /// Whether a reaction has outdated what the interceptors made of a task.
  func isOutdated(_ id: Int, _ job: Job) -> Bool {
    guard let tick = job.interceptTick, tick < lastReinterception, let rare = rareParts[id] else { return false }
    return rare.outdatingKeys.contains { key in lastRequeues[key].map { tick < $0.end } ?? false }
  }

  // MARK: - Batches

  var heldCount: Int { batches.reduce(0) { $0 + $1.count } }

  /// Lets tasks execute that an interceptor holds. Returns how many.
  mutating func release(_ maxCount: Int, of interceptor: Int) -> Int {
    let places = take(maxCount, of: interceptor)
    execute(places)
    return places.count
  }

  /// Lets all held tasks execute. Returns how many.
  mutating func releaseAll() -> Int {
    let places = released(by: Array(batches.indices))
    execute(places)
    return places.count
  }

  /// Lets one task execute, if it is held under this number.
  mutating func release(id: Int, number: Int, of interceptor: Int) -> Bool {
    guard jobs[id]?.phase == .held(interceptor: interceptor, number: number) else { return false }
    leaveBatch(interceptor)
    execute([(id, number)])
    return true
  }

  private mutating func released(by interceptors: [Int]) -> [HeldBatch.Place] {
    if interceptors.isEmpty { return [] }
    if interceptors.count == 1 { return take(.max, of: interceptors[0]) }
    return interceptors.flatMap { take(.max, of: $0) }.sorted { $0.number < $1.number }
  }

  private mutating func take(_ maxCount: Int, of interceptor: Int) -> [HeldBatch.Place] {
    let jobs = jobs
    return batches[interceptor].take(maxCount) { place in
      jobs[place.id]?.phase == .held(interceptor: interceptor, number: place.number)
    }
  }

  /// Lets tasks execute that were held, in their order, each after what it releases itself. If one
  /// of them goes ahead of others, all do.
  ///
  /// - Parameter isUrgent: whether they go ahead anyway.
  /// - Returns: whether they go ahead.
  @discardableResult
  private mutating func execute(_ places: [HeldBatch.Place], isUrgent: Bool = false) -> Bool {
    let isUrgent = isUrgent || places.contains { jobs[$0.id]?.isUrgent == true }
    for place in places {
      guard let job = jobs[place.id] else { continue }
      if let releasing = rareParts[place.id]?.releasing, !releasing.isEmpty {
        rareParts[place.id]?.releasing = []
        for (interceptor, generation) in releasing where batches[interceptor].generation == generation {
          execute(take(.max, of: interceptor), isUrgent: isUrgent)
        }
      }
      if case .held(let interceptor, _) = job.phase { note(job, .released(interceptor: interceptor)) }
      makeReady(place.id, job, isUrgent: isUrgent)
    }
    return isUrgent
  }

  /// A held task leaves the count of its batch.
  mutating func leaveBatch(_ interceptor: Int) {
    batches[interceptor].left()
    guard batches[interceptor].isSparse else { return }
    let jobs = jobs
    batches[interceptor].compact { place in
      jobs[place.id]?.phase == .held(interceptor: interceptor, number: place.number)
    }
  }
}

/// Where a task is held.
struct HeldPlace {
  let interceptor: Int
  let number: Int
  /// How often the batch was empty before.
  let filling: Int
}

/// What the interceptors have answered about one task, combined.
struct InterceptAnswer {
  private(set) var command = InterceptCommand.execute
  /// The interceptor that decided: the first one that said so.
  private(set) var decider = 0
  /// The interceptors whose batches are released if the task executes.
  private(set) var releasing: [Int] = []

  mutating func add(_ command: InterceptCommand, of interceptor: Int, batchCount: Int) {
    if command == .execute || command == .forceExecute, batchCount > 0 { releasing.append(interceptor) }
    guard command.weight > self.command.weight else { return }
    self.command = command
    decider = interceptor
  }
}

extension InterceptCommand {
  /// The heaviest command counts.
  fileprivate var weight: Int {
    switch value {
    case .execute, .pass: 0
    case .hold: 1
    case .discard: 2
    case .forceExecute: 3
    }
  }
}
