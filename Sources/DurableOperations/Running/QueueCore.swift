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
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    var waiters: [Int: DatabaseWaiter] = [:]
    var lastWaiter = 0
    var graceTimer: Timekeeper.Timer?
    /// Whether what runs was told to end, and what is still claimed has to be.
    var isGraceOver = false
    /// The timer is nil while it is being set.
    var alarm: (time: Timekeeper.Time, number: Int, timer: Timekeeper.Timer?)?
    var lastAlarm = 0
    var watch = PollState()
    var pendingEnqueues: [PendingEnqueue] = []
    var failuresInARow = 0
  }

  let configuration: DurableQueue.Configuration
  /// Writes; one at a time.
  let database: SerialDatabase
  /// Only reads, at the same time; of a database in memory there is only one.
  let reader: SerialDatabase
  let events = EventHub()
  let network = NetworkWatch()
  /// What tells the database from others.
  let identity: String
  private let storage: LockBox<Storage>
  // Set once, before anybody else sees this.
  nonisolated(unsafe) private(set) var engine: DrivenOperation<Void>!

  init(location: DurableQueue.Location, configuration: DurableQueue.Configuration) throws {
    self.configuration = configuration
    switch location {
    case .memory:
      database = try SerialDatabase(path: ":memory:", configuration: configuration, events: events, label: "memory")
      reader = database
    case .file(let url), .existingFile(let url):
      try Self.prepare(location, at: url)
      let name = url.lastPathComponent
      let mustExist = location == .existingFile(url)
      database = try SerialDatabase(
        path: url.path, configuration: configuration, events: events, label: name, mustExist: mustExist)
      reader = try SerialDatabase(
        path: url.path, configuration: configuration, events: events, label: "\(name).reader", mustExist: true,
        besides: database)
    }
    identity = try database.sync { try $0.identity() }
    var state = RunnerState(maxConcurrentJobs: configuration.maxConcurrentJobs)
    // Before the first round, for that may come before the first look around.
    state.setPaused(try database.sync { try $0.pausedKinds() })
    storage = LockBox(Storage(state: state))
    engine = makeEngine()
    engine.start()
  }

  /// Makes the folder of a file that is to be made.
  private static func prepare(_ location: DurableQueue.Location, at url: URL) throws {
    if case .existingFile = location {
      guard FileManager.default.fileExists(atPath: url.path) else {
        throw DatabaseError(.notAQueue, message: "there is no such file", path: url.path)
      }
      return
    }
    let folder = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw DatabaseError(
        .cannotOpen,
        message: "the folder \(folder.path) is not there and can not be made: \(error.localizedDescription)",
        path: url.path)
    }
    // SQLite would write over a file of a single byte.
    let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? Int
    if size == 1 { throw DatabaseError(.notADatabase, message: "it is a single byte long", path: url.path) }
  }

  deinit {
    // Nothing runs any more: what runs keeps this.
    engine.settle(with: .cancelled)
    events.end()
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  var clock: JobClock { configuration.clock }

  // MARK: - Rounds

  /// Begins a round, if there is something to do.
  func pump() {
    guard let round = withLock({ $0.state.nextRound() }) else { return }
    database.async { [self] store in
      do {
        try perform(round, in: store)
      } catch {
        fail(round, with: error)
      }
    }
  }

  private func perform(_ round: RunnerState.Round, in store: JobStore) throws {
    let now = try time(in: store)
    // Not what it was when the round began: a look around in between may have found it lost.
    var worker = withLock { $0.state.worker }
    var hasLostWorker = false
    var claim = Claim()
    var paused: Set<Int64>?
    store.hasFreedJobs = false
    try store.transaction {
      for acknowledgement in round.acknowledgements {
        try store.acknowledge(acknowledgement, keepsDone: configuration.retention != .none, now: now)
      }
      // Kinds may have been paused since the round began, or all of it stopped.
      let claimable = withLock { storage in
        storage.state.phase == .running ? round.claimable?.filter { !storage.state.paused.contains($0.kind) } : nil
      }
      if let claimable, !claimable.isEmpty {
        // Nobody would take over what is claimed for a process that the others have taken out.
        if let number = worker, try !store.hasWorker(number) { (worker, hasLostWorker) = (nil, true) }
        let owner = try worker ?? store.addWorker(.current, lease: configuration.leaseDuration.milliseconds, now: now)
        worker = owner
        // Another process may have paused one since the last look around.
        let nowPaused = try store.pausedKinds()
        paused = nowPaused
        claim = try store.claim(
          ClaimRequest(
            kinds: claimable.filter { !nowPaused.contains($0.kind) }, limit: round.limit, isOnline: network.isOnline,
            mayRunAlone: round.mayRunAlone, worker: owner, now: now))
      }
      if round.isLast, let last = worker {
        try store.removeWorker(last)
        worker = nil
      }
    }
    if hasLostWorker { interruptAll(.lostLease) }
    let hasFreed = store.hasFreedJobs
    let (numbers, executions, idle) = withLock { storage in
      storage.failuresInARow = 0
      if let paused { storage.state.setPaused(paused) }
      storage.state.roundSucceeded(round, claim: claim, hasFreed: hasFreed, worker: worker)
      let executions = claim.jobs.map { storage.add($0) }
      for execution in executions { execution.core = self }
      let isIdle = storage.state.phase == .idle
      return (executions.map(\.number), executions, isIdle ? storage.takeStopWaiters() : [])
    }
    for execution in executions {
      events.tell(.started(execution.job.id, kind: execution.kindName, attempt: execution.attempt))
    }
    if !numbers.isEmpty { engine.run(tags: numbers) }
    for waiter in idle { waiter.resume() }
    if !round.acknowledgements.isEmpty { lookAhead(in: store, now: clock.milliseconds) }
    pump()
  }

  /// A round that failed is begun anew after a while.
  private func fail(_ round: RunnerState.Round, with error: any Error) {
    events.tell(.databaseFailed(DatabaseError(any: error)))
    let (delay, waiters): (Duration?, [CheckedContinuation<Void, Never>]) = withLock { storage in
      storage.failuresInARow += 1
      storage.state.roundFailed(round)
      // Whoever stops does not wait for a disk for ever; what could not be written is
      // written after the next start, or the jobs run again in another process.
      if round.isLast, storage.state.phase == .stopping, storage.failuresInARow >= 3 {
        storage.state.giveUp()
        return (nil, storage.takeStopWaiters())
      }
      return (.milliseconds(50 << min(storage.failuresInARow, 7)), [])
    }
    for waiter in waiters { waiter.resume() }
    guard let delay else { return }
    _ = clock.timekeeper.after(delay) { [self] in
      withLock { $0.state.pauseIsOver() }
      pump()
    }
  }

  // MARK: - Starting and stopping

  func start() {
    let waiters: [CheckedContinuation<Void, Never>]? = withLock { storage in
      guard storage.state.start() else { return nil }
      storage.isGraceOver = false
      return storage.takeStopWaiters()
    }
    guard let waiters else { return }
    // A stop that was overtaken is over.
    for waiter in waiters { waiter.resume() }
    network.start(configuration.networkMonitor) { [weak self] _ in
      self?.withLock { $0.state.workMayHaveCome() }
      self?.pump()
    }
    database.async { [self] in poll($0) }
  }

  func stop(grace: Duration) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace) { continuation }
    }
  }

  /// Stops; the continuation is resumed when nothing runs any more.
  func stop(grace: Duration, waiter: () -> CheckedContinuation<Void, Never>?) {
    let waiter = waiter()
    let isStopping = withLock { storage in
      guard storage.state.stop() else { return false }
      if let waiter { storage.stopWaiters.append(waiter) }
      return true
    }
    guard isStopping else {
      waiter?.resume()
      return
    }
    if grace <= .zero {
      graceIsOver()
    } else {
      let timer = clock.timekeeper.after(grace) { [weak self] in self?.graceIsOver() }
      let replaced = withLock { storage in
        defer { storage.graceTimer = timer }
        return storage.graceTimer
      }
      if let replaced { clock.timekeeper.cancel(replaced) }
    }
    pump()
  }

  private func graceIsOver() {
    let isStopping = withLock { storage in
      guard storage.state.phase == .stopping else { return false }
      // For what a round that is under way has claimed by now.
      storage.isGraceOver = true
      return true
    }
    if isStopping { interruptAll(.stop) }
  }

  /// Cancels all operations that were not cancelled before.
  func interruptAll(_ reason: Execution.Interruption) {
    let operations = withLock { storage in
      storage.executions.values.compactMap { execution -> Operation? in
        guard execution.interruption == nil else { return nil }
        execution.interruption = reason
        return execution.operation
      }
    }
    for operation in operations { operation.cancel() }
  }
}

extension QueueCore.Storage {
  mutating func add(_ job: ClaimedJob) -> Execution {
    lastExecution += 1
    let execution = Execution(
      number: lastExecution, job: job, kindName: registrations[job.kind]?.kind ?? "")
    if isGraceOver { execution.interruption = .stop }
    executions[lastExecution] = execution
    executionNumbers[job.id] = lastExecution
    return execution
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
