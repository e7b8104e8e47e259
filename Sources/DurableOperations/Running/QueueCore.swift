import CompositeOperations
import Foundation

/// The state and the work of a queue: its shell may be released while jobs still run, which keep
/// this alive.
final class QueueCore: Sendable {
  struct Storage {
    var state: RunnerState
    var registrations: [Int64: Registration] = [:]
    /// Those of jobs that count as executing.
    var executions: [Int: Execution] = [:]
    /// The latest execution of each job.
    var executionNumbers: [JobID: Int] = [:]
    var lastExecution = 0
    /// The slots of the user's queue that exist or were requested, by their numbers.
    var places: [Int: JobPlace] = [:]
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// Stops that a start has overtaken: each waits for what ran then.
    var overtakenStops: [OvertakenStop] = []
    var waiters: [Int: DatabaseWaiter] = [:]
    var lastWaiter = 0
    /// When running jobs are told to end, and the timer for it.
    var grace: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
    /// When a stop gives up waiting, and the timer for it.
    var patience: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
    /// Whether running jobs were told to end, and those still to be claimed must be told, too.
    var isGraceOver = false
    /// The timer is nil while it is being set.
    var alarm: (time: Timekeeper.Time, number: Int, timer: Timekeeper.Timer?)?
    var lastAlarm = 0
    var watch = PollState()
    var pendingEnqueues: [PendingEnqueue] = []
    var failuresInARow = 0
    /// The timer after which a failed round is repeated.
    var retryTimer: Timekeeper.Timer?
    /// While it is set, the queue touches no file.
    var suspension: QueueSuspension?
    /// The worker of this process whose jobs are still to be returned: they ran when the queue was
    /// suspended.
    var owedWorker: Int64?
  }

  let configuration: DurableQueue.Configuration
  /// Where the jobs are stored.
  let database: any StoreAccess
  /// The same store, for reading, in parallel if the store can do that.
  let reader: any StoreAccess
  let events: EventHub
  let network = NetworkWatch()
  /// The identity of the database.
  let identity: String
  /// What was lost before the queue opened it, if that can be seen.
  private let loss: DatabaseError?
  private let storage: LockBox<Storage>
  // Set once, before another thread sees this.
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
    // Before the first round, which may come before the first look.
    state.setRules(facts.kindRules)
    storage = LockBox(Storage(state: state))
    engine = makeEngine()
    engine.start()
  }

  deinit {
    // Nothing runs any longer: running jobs keep this alive.
    engine.settle(with: .cancelled)
    for place in withLock({ $0.places.values }) { place.operation.cancel() }
    for timer in withLock({ $0.takeTimers() }) { clock.timekeeper.cancel(timer) }
    events.end()
  }

  /// Reports to the current listeners what the opening found.
  func tellOfLoss() {
    if let loss { events.tell(.databaseFailed(loss)) }
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  var clock: JobClock { configuration.clock }

  /// Whether done jobs are kept for a while.
  var keepsDone: Bool { configuration.retention != .none }
}

/// A stop that waits for the end of what ran when the queue was started again.
struct OvertakenStop {
  let waiter: CheckedContinuation<Void, Never>
  /// The numbers of the executions.
  var running: Set<Int>
  /// When it gives up waiting, and the timer for it; nil for no limit.
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

  /// Takes the stops whose jobs have all ended.
  mutating func takeEndedStops() -> [CheckedContinuation<Void, Never>] {
    let ended = overtakenStops.filter(\.running.isEmpty)
    overtakenStops.removeAll(where: \.running.isEmpty)
    return ended.map(\.waiter)
  }

  mutating func takeStopTimers() -> [Timekeeper.Timer] {
    [grace.take()?.timer, patience.take()?.timer].compactMap { $0 }
  }

  /// Notes that the queue is started again while it is being stopped: the stop waits for what runs
  /// now, and no longer than before. Returns the timers that are no longer needed.
  mutating func overtakeStops() -> [Timekeeper.Timer] {
    let running = Set(executions.keys), waiters = takeStopWaiters()
    let (patience, grace) = (patience.take(), grace.take())
    overtakenStops += waiters.map { OvertakenStop(waiter: $0, running: running, patience: patience) }
    return [grace?.timer, waiters.isEmpty ? patience?.timer : nil].compactMap { $0 }
  }

  /// Takes the stops that give up waiting.
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
  /// Makes an error of the store from any error.
  init(any error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.statement, message: String(describing: error), path: "")
  }
}
