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
/// One that is ready goes back to waiting if a reaction has outdated what the interceptors have made of it.
///
/// Every input is a mutating function. What has to be done in consequence is collected in ``effects``, which the caller takes
/// with ``conclude()`` and carries out when it has left the lock.
struct ManagerState<Payload> {
  enum Phase: Equatable {
    /// Nobody has started it.
    case pending
    /// It waits for a timer. `isRequeued`: for that of a reaction.
    case delayed(isRequeued: Bool)
    /// It waits for the interceptors.
    case waiting
    /// They are being asked about it.
    case intercepting
    /// It is in the batch of an interceptor, under a number.
    case held(interceptor: Int, number: Int)
    /// It waits for its turn to execute.
    case ready
    case executing
    /// The attempt has ended, and the reactors are being asked whether they want to react.
    case concluding
    /// Some do.
    case reacting
    /// Its outcome is decided, and its handle settles or has.
    case settling
  }

  struct Job {
    let payload: Payload
    var phase = Phase.pending
    /// How long it waits after the start.
    var delay: Duration?
    /// How long an attempt may execute.
    var timeout: Duration?
    /// The number of the attempt that is under way, or was the last.
    var attempt = 0
    /// When that started.
    var startTick = 0
    /// When the interceptors were asked about it last; nil if they have not been.
    var interceptTick: Int?
    /// Whether it has to be intercepted before it executes next.
    var needsInterception = true
    /// Whether that is only for what interceptors make of it, since they have let it pass before.
    var isAskedAgain = false
    /// Whether it goes ahead of others.
    var isUrgent = false
    /// Whether the operation of an attempt is under way.
    var isUnderWay = false
    /// Whether that has to be cancelled as soon as it is known.
    var cancelsOperation = false
    /// Whether the handle has settled, and everybody has been told.
    var isAnnounced = false
    var isStarted = false
    /// The number of the timer that counts; 0 for none.
    var timer = 0
  }

  /// What is known of few tasks only. Apart from the others, so that those are small.
  struct RareParts {
    /// What is shared by the reactions that outdate what interceptors have made of it.
    var outdatingKeys: [ReactionKey] = []
    /// The batches that it releases when it is let go, and which filling of them.
    var releasing: [(interceptor: Int, generation: Int)] = []
    /// How often each reactor has requeued it.
    var requeues: [Int: Int] = [:]
    /// The reactions that it waits for.
    var openReactions: Set<Int> = []
    /// What the reactors have answered.
    var verdicts: [(reactor: Int, answer: ReactionAnswer)] = []
  }

  /// How the end came; a later one only makes it stricter.
  enum Closing {
    /// What executes may end by itself.
    case stoppedWithGrace
    case stopped, released
  }

  /// Something that happened, for those who watch.
  typealias Entry = (payload: Payload, attempt: Int, notice: ManagerNotice)

  let interceptorCount: Int
  let reactors: [ReactorConfiguration]

  var jobs: [Int: Job] = [:]
  var rareParts: [Int: RareParts] = [:]
  /// Those that were started and are not gone.
  var activeCount = 0
  var closing: Closing?
  var effects = ManagerEffects<Payload>()

  // Interception
  var line = TaskLine()
  /// The number of the one who asks the interceptors; nil if nobody does.
  var drain: Int?
  /// The task that they are asked about.
  var intercepted: Int?
  /// It was cancelled, and so is the one who asks.
  var drainIsCancelled = false
  var batches: [HeldBatch]

  // Execution
  var ready = TaskLine()
  /// For how many of those that are ready the engine has been told that something can run.
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
  /// When the last of those ended whose tasks are intercepted again.
  var lastReinterception = 0
  var sweepsAt = 64
  /// How many of the reactions that are under way suspend the queue.
  var suspendingCount = 0
  /// Tasks whose attempt has failed, while it is not known whether a reactor that suspends the queue reacts.
  var suspendingConclusions: Set<Int> = []

  // Watching
  /// Whether anybody watches. Otherwise nothing is noted.
  var isObserved = false
  /// What has happened and was not told yet.
  var outbox = Outbox<Entry>()

  /// Numbers of timers, drains, reactions and places in batches.
  private var lastNumber = 0

  init(interceptorCount: Int = 0, reactors: [ReactorConfiguration] = []) {
    self.interceptorCount = interceptorCount
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

  /// Whether nothing that was started is left.
  var isIdle: Bool { activeCount == 0 && reactions.isEmpty }

  // MARK: - Inputs

  /// A task was added. False if none is taken any more.
  mutating func add(_ id: Int, _ payload: Payload, delay: Duration? = nil, timeout: Duration? = nil) -> Bool {
    guard closing == nil else { return false }
    let job = Job(payload: payload, delay: delay, timeout: timeout)
    jobs[id] = job
    note(job, .added)
    return true
  }

  /// A task that was added too late has settled. Those who watch hear of it all the same.
  mutating func refused(_ payload: Payload, outcome: Outcome<any Sendable>) {
    note(Job(payload: payload), .added)
    note(Job(payload: payload), .finished(outcome))
  }

  /// It was started. False if it is not here any more.
  mutating func start(_ id: Int) -> Bool {
    guard var job = jobs[id], job.phase == .pending else { return false }
    job.isStarted = true
    activeCount += 1
    note(job, .started)
    if let delay = job.delay, delay > .zero {
      job.phase = .delayed(isRequeued: false)
      job.timer = nextNumber()
      effects.actions.append(.setTimer(job.payload, number: job.timer, delay))
      jobs[id] = job
    } else {
      enter(id, job)
    }
    return true
  }

  /// Sends a task on its way: to the interceptors, or to its turn.
  mutating func enter(_ id: Int, _ job: Job) {
    if job.needsInterception, interceptorCount > 0 {
      waitForInterceptors(id, job, isUrgent: job.isUrgent)
    } else {
      makeReady(id, job, isUrgent: job.isUrgent)
    }
  }

  mutating func makeReady(_ id: Int, _ job: Job, isUrgent: Bool) {
    var job = job
    job.phase = .ready
    jobs[id] = job
    note(job, .queued)
    if ready.isSparse {
      let jobs = jobs
      ready.compact { jobs[$0]?.phase == .ready }
    }
    ready.append(id, isUrgent: isUrgent)
    issueTickets()
  }

  /// A timer is up.
  mutating func timerFired(_ id: Int, number: Int) {
    guard var job = jobs[id], job.timer == number, number != 0 else { return }
    job.timer = 0
    switch job.phase {
    case .delayed:
      enter(id, job)
    case .executing:
      jobs[id] = job
      // Before the cancel, which may end the work at once.
      settle(id, .failed(.timedOut))
      cancelOperation(id)
    case .pending, .waiting, .intercepting, .held, .ready, .concluding, .reacting, .settling:
      jobs[id] = job
    }
  }

  /// It shall not run any more. Returns whether its handle can settle at once; if not, its operation is being cancelled, and
  /// it settles when that has ended.
  mutating func cancel(_ id: Int) -> Bool {
    guard let phase = jobs[id]?.phase else { return true }
    switch phase {
    case .executing:
      cancelOperation(id)
      return false
    case .settling:
      // Whoever settles it is on the way; the handle knows that it is cancelled.
      return false
    case .pending, .delayed, .waiting, .intercepting, .held, .ready, .concluding, .reacting:
      withdraw(id)
      jobs[id]?.phase = .settling
      return true
    }
  }

  /// Its handle has settled, and everybody who waited for it has been told.
  ///
  /// - Parameter outcome: how; asked for if somebody watches.
  mutating func announced(_ id: Int, outcome: @autoclosure () -> Outcome<any Sendable> = .cancelled) {
    guard let job = jobs[id] else { return }
    // Somebody else has settled it: what it was going to do is not needed any more.
    if job.phase != .settling {
      withdraw(id)
      if job.phase == .executing { cancelOperation(id) }
      jobs[id]?.phase = .settling
    }
    note(job, .finished(outcome()))
    if jobs[id]?.isUnderWay == true {
      jobs[id]?.isAnnounced = true
    } else {
      remove(id)
    }
  }

  /// The handle of one that nobody has started was released.
  mutating func forget(_ id: Int) -> Payload? {
    guard let job = jobs[id], !job.isStarted else { return nil }
    note(job, .dropped)
    return jobs.removeValue(forKey: id)?.payload
  }
}
