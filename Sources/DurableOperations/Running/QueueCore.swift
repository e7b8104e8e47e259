import CompositeOperations
import Foundation

/// What a queue is: its shell may go while jobs still run, which keep this alive.
final class QueueCore: Sendable {
  struct Storage {
    var state: RunnerState
    var registrations: [Int64: Registration] = [:]
    var executions: [Int: Execution] = [:]
    /// The latest execution of each job.
    var executionNumbers: [JobID: Int] = [:]
    var lastExecution = 0
    /// The slots of the user's queue that were asked for, or are there, by their numbers.
    var places: [Int: JobPlace] = [:]
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// Stops that a start has overtaken: each waits for what ran then.
    var overtakenStops: [OvertakenStop] = []
    var waiters: [Int: DatabaseWaiter] = [:]
    var lastWaiter = 0
    /// When what runs is told to end, and the timer for it.
    var grace: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
    /// When whoever stops no longer waits, and the timer for it.
    var patience: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
    /// Whether what runs was told to end, and what is still claimed has to be.
    var isGraceOver = false
    /// The timer is nil while it is being set.
    var alarm: (time: Timekeeper.Time, number: Int, timer: Timekeeper.Timer?)?
    var lastAlarm = 0
    var watch = PollState()
    var pendingEnqueues: [PendingEnqueue] = []
    var failuresInARow = 0
    /// The timer after which a round that failed is begun anew.
    var retryTimer: Timekeeper.Timer?
    /// While it is there, no file is touched.
    var suspension: QueueSuspension?
    /// The worker of this process whose jobs are still to be given back: they ran when the queue was suspended.
    var owedWorker: Int64?
  }

  let configuration: DurableQueue.Configuration
  /// Where the jobs are stored.
  let database: any StoreAccess
  /// The same, for questions, at the same time if the store can do that.
  let reader: any StoreAccess
  let events: EventHub
  let network = NetworkWatch()
  /// What tells the database from others.
  let identity: String
  /// What was lost before this was opened, if that can be seen.
  private let loss: DatabaseError?
  private let storage: LockBox<Storage>
  // Set once, before anybody else sees this.
  nonisolated(unsafe) private(set) var engine: DrivenOperation<Void>!

  init(location: DurableQueue.Location, configuration: DurableQueue.Configuration) throws {
    self.configuration = configuration
    events = EventHub(log: configuration.logHandler)
    (database, reader) = try location.openStore(configuration, events)
    let facts = try database.sync { try $0.facts() }
    identity = facts.identity
    loss = facts.loss
    if let loss { events.report(.databaseFailed(loss)) }
    var state = RunnerState(
      maxConcurrentOperationCount: configuration.maxConcurrentOperationCount,
      usesPlaces: configuration.operationQueue != nil)
    // Before the first round, for that may come before the first look around.
    state.setRules(facts.kindRules)
    storage = LockBox(Storage(state: state))
    engine = makeEngine()
    engine.start()
  }

  deinit {
    // Nothing runs any more: what runs keeps this.
    engine.settle(with: .cancelled)
    for place in withLock({ $0.places.values }) { place.operation.cancel() }
    for timer in withLock({ $0.takeTimers() }) { clock.timekeeper.cancel(timer) }
    events.end()
  }

  /// Tells those who listen by now what was found when the place was opened.
  func tellOfLoss() {
    if let loss { events.tell(.databaseFailed(loss)) }
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  var clock: JobClock { configuration.clock }

  /// Whether jobs that are done are kept for a while.
  var keepsDone: Bool { configuration.retention != .none }
}

/// Somebody who waits for the end of what ran when the queue was started again.
struct OvertakenStop {
  let waiter: CheckedContinuation<Void, Never>
  /// The numbers of the executions.
  var running: Set<Int>
  /// When it no longer waits, and the timer for it; nil if it waits for as long as it takes.
  let patience: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
}

extension QueueCore.Storage {
  mutating func add(_ job: ClaimedJob) -> Execution {
    lastExecution += 1
    let registration = registrations[job.kind]
    let execution = Execution(number: lastExecution, job: job, registration: registration)
    if isGraceOver || registration == nil { execution.interruption = .stop }
    if suspension != nil || owedWorker != nil {
      // Claimed by a round that was under way when the queue was suspended.
      execution.interruption = .suspension
      owedWorker = state.worker
    }
    executions[lastExecution] = execution
    executionNumbers[job.id] = lastExecution
    return execution
  }

  /// Those whose jobs have all ended.
  mutating func takeEndedStops() -> [CheckedContinuation<Void, Never>] {
    let ended = overtakenStops.filter(\.running.isEmpty)
    overtakenStops.removeAll(where: \.running.isEmpty)
    return ended.map(\.waiter)
  }

  mutating func takeStopTimers() -> [Timekeeper.Timer] {
    [grace.take()?.timer, patience.take()?.timer].compactMap { $0 }
  }

  /// The queue is started again while it is being stopped: whoever stops it waits for what runs now, and for no longer than
  /// before. Returns the timers that nobody needs.
  mutating func overtakeStops() -> [Timekeeper.Timer] {
    let running = Set(executions.keys), waiters = takeStopWaiters()
    let (patience, grace) = (patience.take(), grace.take())
    overtakenStops += waiters.map { OvertakenStop(waiter: $0, running: running, patience: patience) }
    return [grace?.timer, waiters.isEmpty ? patience?.timer : nil].compactMap { $0 }
  }

  /// Those that do not wait any longer.
  mutating func takeOvertakenStops(at now: Timekeeper.Time) -> [CheckedContinuation<Void, Never>] {
    let isOver: (OvertakenStop) -> Bool = { $0.patience.map { $0.end <= now } ?? false }
    defer { overtakenStops.removeAll(where: isOver) }
    return overtakenStops.filter(isOver).map(\.waiter)
  }

  mutating func takeOvertakenStops() -> [CheckedContinuation<Void, Never>] {
    defer { overtakenStops = [] }
    return overtakenStops.map(\.waiter)
  }

  mutating func takeStopWaiters() -> [CheckedContinuation<Void, Never>] {
    defer { stopWaiters = [] }
    return stopWaiters
  }
}

extension DatabaseError {
  /// An error of the store's, whatever it is.
  init(any error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.statement, message: String(describing: error), path: "")
  }
}
