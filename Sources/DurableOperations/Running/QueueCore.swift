import CompositeOperations
import Foundation

/// The state and the work of a queue: its shell may be released while jobs still run, which keep
/// this alive.
final class QueueCore: Sendable {
  struct Storage {
    var state: RunnerState
    var registrations: [Int64: Registration] = [:]
    /// The names of the kinds that were ever registered.
    var kindNames: [Int64: String] = [:]
    /// Those of jobs that count as executing.
    var executions: [Int: Execution] = [:]
    /// The latest execution of each job.
    var executionNumbers: [JobID: Int] = [:]
    var lastExecution = 0
    /// The slots of the user's queue that exist or were requested, by their numbers.
    var places: [Int: JobPlace] = [:]
    /// Stops that wait until nothing runs and all is written. While there is one, the queue stops.
    /// It may stop without one: when it is released, or for those that were overtaken.
    var stopWaiters: [WaitingStop] = []
    /// Stops that a start or a suspension has overtaken: each waits for what ran then.
    var overtakenStops: [WaitingStop] = []
    var waiters: [Int: DatabaseWaiter] = [:]
    var lastWaiter = 0
    /// When running jobs are told to end, and the timer for it.
    var grace: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
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

/// A stop that waits.
struct WaitingStop {
  let waiter: CheckedContinuation<Void, Never>
  let graceEnd: Timekeeper.Time
  /// When it gives up waiting, and the timer for it; nil for no limit.
  let patience: (end: Timekeeper.Time, timer: Timekeeper.Timer)?
  /// The numbers of the executions for which it waits, if it was overtaken.
  var running: Set<Int> = []

  func givesUp(at now: Timekeeper.Time) -> Bool { patience.map { $0.end <= now } ?? false }
}

extension QueueCore.Storage {
  mutating func add(_ job: ClaimedJob) -> Execution {
    lastExecution += 1
    let registration = registrations[job.kind]
    let execution = Execution(
      number: lastExecution, job: job, kindName: kindNames[job.kind] ?? "", registration: registration)
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

  /// Interrupts the attempts of jobs that run here. Returns those that were not interrupted before:
  /// their operations are to be cancelled.
  func interrupt(_ ids: some Sequence<JobID>, _ reason: Execution.Interruption) -> [Execution] {
    ids.compactMap { id in executionNumbers[id].flatMap { executions[$0] } }.filter { $0.interrupt(reason) }
  }

  /// Does the same with all attempts.
  func interruptAll(_ reason: Execution.Interruption) -> [Execution] {
    executions.values.filter { $0.interrupt(reason) }
  }

  /// Has the stops wait for what runs now, whatever the queue does from now on, and no longer than
  /// before.
  mutating func overtakeStops() {
    let running = Set(executions.keys)
    for var stop in takeStopWaiters() {
      stop.running = running
      overtakenStops.append(stop)
    }
  }

  /// Takes the stops whose jobs have all ended.
  mutating func takeEndedStops() -> [WaitingStop] { takeOvertakenStops(where: \.running.isEmpty) }

  mutating func takeOvertakenStops(where isOver: (WaitingStop) -> Bool) -> [WaitingStop] {
    defer { overtakenStops.removeAll(where: isOver) }
    return overtakenStops.filter(isOver)
  }

  mutating func takeStopWaiters(where isOver: (WaitingStop) -> Bool = { _ in true }) -> [WaitingStop] {
    defer { stopWaiters.removeAll(where: isOver) }
    return stopWaiters.filter(isOver)
  }
}

extension DatabaseError {
  /// Makes an error of the store from any error.
  init(any error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.statement, message: String(describing: error), path: "")
  }
}
