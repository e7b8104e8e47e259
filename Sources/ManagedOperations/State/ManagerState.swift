import CompositeOperations

/// The tasks of one manager, as a value: where each is, and what follows from what happens to it.
///
/// ```
/// pending ─start─▶ (delayed) ─▶ waiting ─▶ intercepting ─▶ (held) ─▶ ready ─claim─▶ executing ─▶ concluding ─▶ (reacting)
///                      ▲                                                                                         │
///                      └──────────────────────────────── requeue ◀───────────────────────────────────────────────┤
///      any of them ─cancel, discard, time out, …─▶ settling ◀─────────────── deliver, fail ◀─────────────────────┘
/// ```
///
/// A ready task goes back to waiting if a reaction has outdated what the interceptors made of it.
/// ``Phase`` says what each state means.
///
/// Every input is a mutating function. The consequences are collected in ``effects``, which the
/// caller takes with ``conclude()`` and carries out after it has left the lock.
struct ManagerState<Payload> {
  /// What is known of few tasks only. Apart from the others, so that those are small.
  struct RareParts {
    /// What is shared by the reactions that outdate what interceptors have made of it.
    var outdatingKeys: [ReactionKey] = []
    /// The batches that it releases when it is released, and which filling of them.
    var releasing: [(interceptor: Int, generation: Int)] = []
    /// How often each reactor has requeued it.
    var requeues: [Int: Int] = [:]
    /// The reactions that it waits for.
    var openReactions: Set<Int> = []
    /// What the reactors have answered.
    var verdicts: [(reactor: Int, answer: ReactionAnswer)] = []
  }

  /// How the end came. A later end only makes it stricter.
  enum Closing {
    /// Attempts under way may end by themselves.
    case stoppedWithGrace
    case stopped, released
  }

  /// Something that happened, for events.
  typealias Entry = (number: Int, payload: Payload, attempt: Int, content: ManagedEvent.Content)

  let interceptorCount: Int
  /// Whether none of the interceptors changes a task.
  let interceptorsOnlyHold: Bool
  let reactors: [ReactorConfiguration]

  var jobs: [Int: Job] = [:]
  var rareParts: [Int: RareParts] = [:]
  /// How many tasks and groups are no longer pending, and not gone.
  var activeCount = 0
  var closing: Closing?
  var effects = ManagerEffects<Payload>()

  // Interception
  var line = TaskLine()
  /// The number of the drain, which asks the interceptors; nil if there is none.
  var drain: Int?
  /// The task that it asks about.
  var intercepted: Int?
  /// That task was cancelled, and the drain with it.
  var drainIsCancelled = false
  var batches: [HeldBatch]

  // Execution
  var ready = TaskLine()
  /// For how many ready tasks the engine has been told that they can run.
  var tickets = 0
  /// Suspended by the user.
  var isSuspended = false
  /// Counts what has to be compared: starts of attempts and ends of reactions.
  var tick = 0

  // Reactions
  var reactions: [Int: RunningReaction] = [:]
  var running: [ReactionKey: Int] = [:]
  /// When the last reaction of a key ended that had its tasks requeued.
  var lastRequeues: [ReactionKey: (end: Int, delay: Duration)] = [:]
  /// When the last reaction ended whose tasks are intercepted again.
  var lastReinterception = 0
  var sweepsAt = 64
  /// How many reactions under way suspend the queue.
  var suspendingCount = 0
  /// Tasks whose attempt has failed, while a reactor that suspends the queue may want to react.
  var suspendingConclusions: Set<Int> = []

  // Events
  /// Whether there are streams. Otherwise nothing is noted.
  var isObserved = false
  /// What has happened and was not delivered yet.
  var outbox = Outbox<Entry>()
  /// The number of the last event that was put into the outbox.
  private(set) var lastEvent = 0

  /// Numbers of timers, drains, reactions and places in batches.
  private var lastNumber = 0

  init(interceptorCount: Int = 0, interceptorsOnlyHold: Bool = false, reactors: [ReactorConfiguration] = []) {
    self.interceptorCount = interceptorCount
    self.interceptorsOnlyHold = interceptorsOnlyHold
    self.reactors = reactors
    batches = Array(repeating: HeldBatch(), count: interceptorCount)
  }

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// What the inputs since the last call have led to.
  mutating func conclude() -> ManagerEffects<Payload> {
    effects.delivers = !outbox.isEmpty
    guard !effects.isEmpty else { return effects }
    defer { effects = ManagerEffects() }
    return effects
  }

  /// Whether no started task is left.
  var isIdle: Bool { activeCount == 0 && reactions.isEmpty }

  /// Whether the manager is gone, nothing more can happen, and all that has happened was delivered.
  var isOver: Bool { closing == .released && isIdle && outbox.isEmpty && !outbox.isDelivering }

  mutating func noteIdle() {
    if isIdle { effects.isIdle = true }
  }

  mutating func note(_ job: Job, _ content: @autoclosure () -> ManagedEvent.Content) {
    guard isObserved else { return }
    lastEvent += 1
    outbox.append((lastEvent, job.payload, job.attempt, content()))
  }

  // MARK: - On the way

  /// A task was added. Returns false if no more tasks are taken.
  mutating func add(_ id: Int, _ payload: Payload, delay: Duration? = nil, timeout: Duration? = nil) -> Bool {
    guard closing == nil else { return false }
    let job = Job(payload: payload, phase: .pending(delay: delay), timeout: timeout)
    jobs[id] = job
    note(job, .added)
    return true
  }

  /// A task that was not taken has settled.
  mutating func refused(_ payload: Payload, outcome: Outcome<any Sendable>) {
    let job = Job(payload: payload, phase: .pending(delay: nil), timeout: nil)
    note(job, .added)
    note(job, .finished(outcome))
  }

  /// It was started. Returns false if it was before, or has ended.
  mutating func start(_ id: Int) -> Bool {
    guard let job = jobs[id], case .pending(let delay) = job.phase else { return false }
    activeCount += 1
    note(job, .started)
    enter(id, job, after: delay ?? .zero)
    return true
  }

  /// Sends a task on its way: to a timer, to the interceptors, or to its turn.
  mutating func enter(_ id: Int, _ job: Job, after delay: Duration = .zero) {
    if delay > .zero {
      let timer = nextNumber()
      move(id, job, to: .delayed(timer: timer))
      effects.actions.append(.setTimer(job.payload, number: timer, delay))
    } else if job.interception == .needed, interceptorCount > 0 {
      waitForInterceptors(id, job, isUrgent: job.isUrgent)
    } else {
      makeReady(id, job, isUrgent: job.isUrgent)
    }
  }

  /// Brings a task to another phase.
  ///
  /// Stores the whole task: to change a part of it in place takes allocations where the compiler
  /// does not inline that.
  mutating func move(_ id: Int, _ job: Job, to phase: Phase) {
    var job = job
    job.phase = phase
    jobs[id] = job
  }

  mutating func makeReady(_ id: Int, _ job: Job, isUrgent: Bool) {
    move(id, job, to: .ready)
    note(job, .queued)
    if ready.isSparse {
      let jobs = jobs
      ready.compact { jobs[$0]?.phase == .ready }
    }
    ready.append(id, isUrgent: isUrgent)
    issueTickets()
  }

  /// A timer is due.
  mutating func timerFired(_ id: Int, number: Int) {
    guard let job = jobs[id], job.timer == number else { return }
    switch job.phase {
    case .delayed:
      enter(id, job)
    case .executing(var execution):
      execution.timer = nil
      move(id, job, to: .executing(execution))
      // Before the cancel, which may end the work at once.
      settle(id, .managed(.timedOut))
      if !execution.isCancelled { effects.actions.append(.cancelOperation(job.payload)) }
    case .pending, .waiting, .intercepting, .held, .ready, .concluding, .reacting, .settling:
      preconditionFailure("The timer of a task fired in the phase \(job.phase), which has none.")
    }
  }

  // MARK: - The end of one

  /// It was cancelled. Returns whether its handle can settle at once; if not, the handle settles
  /// when the operation, which is being cancelled, has ended.
  mutating func cancel(_ id: Int) -> Bool {
    guard let job = jobs[id] else { return true }
    switch job.phase {
    case .executing(var execution):
      guard !execution.isCancelled else { return false }
      execution.isCancelled = true
      move(id, job, to: .executing(execution))
      effects.actions.append(.cancelOperation(job.payload))
      return false
    case .settling:
      // Another thread is about to settle the handle, which knows that it is cancelled.
      return false
    case .pending, .delayed, .waiting, .intercepting, .held, .ready, .concluding, .reacting:
      withdraw(id, job)
      return true
    }
  }

  /// Decides the outcome.
  mutating func settle(_ id: Int, _ settlement: Settlement) {
    guard let job = jobs[id], !job.isSettling else { return }
    withdraw(id, job)
    effects.actions.append(.settle(job.payload, settlement))
  }

  /// Takes a task out of whatever it waits for. From now on its handle settles, or has settled.
  private mutating func withdraw(_ id: Int, _ job: Job) {
    var rest = Rest.handle
    switch job.phase {
    case .pending:
      // Until its observers have been told it is something to wait for.
      activeCount += 1
    case .delayed(let timer):
      effects.actions.append(.dropTimer(job.payload, number: timer))
    case .waiting:
      line.left()
    case .intercepting:
      // The interceptor is cancelled and waited for, since there is one question at a time.
      if intercepted == id, let drain, !drainIsCancelled {
        drainIsCancelled = true
        effects.actions.append(.cancelDrain(drain))
      }
    case .held(let interceptor, _):
      leaveBatch(interceptor)
    case .ready:
      ready.left()
    case .executing(let execution):
      if let timer = execution.timer { effects.actions.append(.dropTimer(job.payload, number: timer)) }
      rest = .handleAndOperation
    case .reacting:
      leaveReactions(id)
    case .concluding, .settling:
      break
    }
    move(id, job, to: .settling(rest))
  }

  /// Its handle has settled, and all observers have been told, unless it waits in a queue: it tells
  /// them when that starts it. Of several calls for a task the first counts.
  ///
  /// - Parameter outcome: how; asked for if there are streams.
  mutating func announced(_ id: Int, outcome: @autoclosure () -> Outcome<any Sendable> = .cancelled) {
    guard let job = jobs[id] else { return }
    if !job.isSettling {
      // The user has settled the handle: what the task was going to do is not needed.
      withdraw(id, job)
      if case .executing(let execution) = job.phase, !execution.isCancelled {
        effects.actions.append(.cancelOperation(job.payload))
      }
    }
    note(job, .finished(outcome()))
    if job.isUnderWay {
      move(id, job, to: .settling(.operation))
    } else {
      remove(id)
    }
  }

  mutating func remove(_ id: Int) {
    guard let job = jobs.removeValue(forKey: id) else { return }
    effects.gone.append(job.payload)
    if let rare = rareParts.removeValue(forKey: id) { effects.goneAnswers += rare.verdicts.map(\.answer) }
    activeCount -= 1
    noteIdle()
  }

  /// The handle of a task that was not started was released.
  mutating func forget(_ id: Int) {
    guard let job = jobs[id] else { return }
    switch job.phase {
    case .pending:
      note(job, .dropped)
      jobs[id] = nil
      effects.gone.append(job.payload)
    case .settling(.handle):
      // The manager was released in that moment, and found no handle to settle.
      note(job, .dropped)
      remove(id)
    case .delayed, .waiting, .intercepting, .held, .ready, .executing, .concluding, .reacting,
      .settling(.handleAndOperation), .settling(.operation):
      break
    }
  }

  // MARK: - All of them

  /// A group of tasks was started. It counts as one until it has settled.
  ///
  /// - Parameter waiting: the tasks that it starts one after the other.
  mutating func groupStarted(_ waiting: [Int]) {
    activeCount += 1
    for id in waiting { jobs[id]?.isNextInGroup = true }
  }

  mutating func groupEnded() {
    activeCount -= 1
    noteIdle()
  }

  /// Takes no more tasks, and asks no more interceptors and reactors.
  ///
  /// - Returns: the tasks that the caller cancels, in the order in which they were added: all, or
  ///   with a grace all but those whose attempt has started. If the manager was released there is
  ///   nothing to cancel: attempts under way end normally, and everything else settles here; those
  ///   of these are returned that were started, by themselves or with their group.
  mutating func close(_ closing: Closing) -> [Payload] {
    if self.closing != .released, closing != .stoppedWithGrace || self.closing == nil { self.closing = closing }
    for number in reactions.keys.sorted() { endReaction(number) }
    var affected: [Payload] = []
    for (id, job) in jobs.sorted(by: { $0.key < $1.key }) {
      switch job.phase {
      case .executing, .concluding, .settling:
        if closing == .stopped { affected.append(job.payload) }
      case .pending, .delayed, .waiting, .intercepting, .held, .ready, .reacting:
        if closing == .released {
          settle(id, .managed(.managerReleased))
          if job.isStarted || job.isNextInGroup { affected.append(job.payload) }
        } else {
          affected.append(job.payload)
        }
      }
    }
    noteIdle()
    return affected
  }
}
