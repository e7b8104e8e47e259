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
  /// Writes; one at a time.
  let database: SerialDatabase
  /// Only reads, at the same time; of a database in memory there is only one.
  let reader: SerialDatabase
  let events: EventHub
  let network = NetworkWatch()
  let reserve: DiskReserve?
  /// What tells the database from others.
  let identity: String
  private let hasLostLog: Bool
  private let storage: LockBox<Storage>
  // Set once, before anybody else sees this.
  nonisolated(unsafe) private(set) var engine: DrivenOperation<Void>!

  init(location: DurableQueue.Location, configuration: DurableQueue.Configuration) throws {
    self.configuration = configuration
    events = EventHub(log: configuration.logHandler)
    let hasUsedReserve: Bool
    (database, reader, hasUsedReserve) = try Self.openedWithReserve(location, configuration, events)
    // Not before: a file that is not there leads nowhere.
    reserve = DiskReserve(at: location, size: configuration.diskReserve)
    identity = try database.sync { try $0.identity() }
    hasLostLog = try database.sync { $0.hasLostLog }
    if hasLostLog { events.report(.databaseFailed(.logLost(database.path))) }
    if case .file(let url) = location {
      _ = reserve?.make()
      configuration.protectFiles(of: url.path)
    } else if hasUsedReserve {
      _ = reserve?.make()
    }
    var state = RunnerState(
      maxConcurrentJobs: configuration.maxConcurrentJobs, usesPlaces: configuration.operationQueue != nil)
    // Before the first round, for that may come before the first look around.
    state.setPaused(try database.sync { try $0.pausedKinds() })
    var storage = Storage(state: state)
    storage.watch.hasUsedReserve = hasUsedReserve
    self.storage = LockBox(storage)
    engine = makeEngine()
    engine.start()
  }

  /// Opens the file. Bringing its tables up to date takes some room, which the reserve gives if there is no other.
  private static func openedWithReserve(
    _ location: DurableQueue.Location, _ configuration: DurableQueue.Configuration, _ events: EventHub
  ) throws -> (database: SerialDatabase, reader: SerialDatabase, hasUsedReserve: Bool) {
    do {
      let (database, reader) = try opened(location, configuration, events)
      return (database, reader, false)
    } catch let error as DatabaseError where error.code == .diskFull {
      let reserve = DiskReserve(at: location, size: configuration.diskReserve)
      guard let reserve, reserve.giveUp() else { throw error }
      do {
        let (database, reader) = try opened(location, configuration, events)
        return (database, reader, true)
      } catch {
        _ = reserve.make()
        throw error
      }
    }
  }

  private static func opened(
    _ location: DurableQueue.Location, _ configuration: DurableQueue.Configuration, _ events: EventHub
  ) throws -> (database: SerialDatabase, reader: SerialDatabase) {
    switch location {
    case .memory:
      let database = try SerialDatabase(
        path: ":memory:", configuration: configuration, events: events, label: "memory")
      return (database, database)
    case .readOnlyFile(let url):
      try prepare(location, at: url, access: configuration.fileAccess)
      let database = try SerialDatabase(
        path: url.path, configuration: configuration, events: events, label: url.lastPathComponent, mustExist: true,
        isReadOnly: true)
      return (database, database)
    case .file(let url), .existingFile(let url):
      try prepare(location, at: url, access: configuration.fileAccess)
      let name = url.lastPathComponent
      let mustExist = location == .existingFile(url)
      let database = try SerialDatabase(
        path: url.path, configuration: configuration, events: events, label: name, mustExist: mustExist)
      let reader = try SerialDatabase(
        path: url.path, configuration: configuration, events: events, label: "\(name).reader", mustExist: true,
        besides: database)
      return (database, reader)
    }
  }

  /// Makes the folder of a file that is to be made, and the file, so that nobody else can read it from its first byte on.
  private static func prepare(_ location: DurableQueue.Location, at url: URL, access: DurableQueue.FileAccess) throws {
    switch location {
    case .existingFile, .readOnlyFile: return try requireFile(at: url)
    case .file, .memory: break
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
    // A link may be there while the file that it leads to is not.
    let file = url.whereLinksLead.path
    // SQLite would write over a file of a single byte.
    let size = (try? FileManager.default.attributesOfItem(atPath: file))?[.size] as? Int
    if size == 1 { throw DatabaseError(.notADatabase, message: "it is a single byte long", path: url.path) }
    guard size == nil else { return }
    // SQLite gives the files beside it the same permissions. If it cannot be made, opening it says why.
    let mode: mode_t = access == .owner ? 0o600 : 0o660
    let descriptor = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode)
    guard descriptor >= 0 else { return }
    // The mask of the process may have taken the group out.
    fchmod(descriptor, mode)
    close(descriptor)
  }

  /// Opening a pipe would wait until another program writes.
  private static func requireFile(at url: URL) throws {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)
    guard let type = attributes?[.type] as? FileAttributeType else {
      throw DatabaseError(.notAQueue, message: "there is no such file", path: url.path)
    }
    if type != .typeRegular { throw DatabaseError(.notAQueue, message: "it is no ordinary file", path: url.path) }
  }

  deinit {
    // Nothing runs any more: what runs keeps this.
    engine.settle(with: .cancelled)
    for place in withLock({ $0.places.values }) { place.operation.cancel() }
    for timer in withLock({ $0.takeTimers() }) { clock.timekeeper.cancel(timer) }
    events.end()
    reserve?.goWithDatabase()
  }

  /// Does something that makes room in the end, for which room is made first where there is none.
  func freeingSpace<R>(in store: JobStore, _ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as DatabaseError where error.code == .diskFull {
      guard let reserve, reserve.giveUp() else { throw error }
      withLock { $0.watch.hasUsedReserve = true }
      events.tell(.databaseFailed(error))
      // What was written before it may have room in the file now, and leave the log's to others.
      store.truncateLog()
      defer {
        store.truncateLog()
        makeReserve()
      }
      return try body()
    }
  }

  /// Makes the reserve if it is not there as it should be.
  func makeReserve() {
    guard let reserve, reserve.make() else { return }
    configuration.protect(reserve.path)
  }

  /// The same, once a minute at most: it may have been used, and there is room again; or somebody has touched it.
  func makeReserveNowAndThen() {
    guard let reserve else { return }
    let now = clock.milliseconds
    let isTime = withLock { storage in
      guard reserve.isKept || storage.watch.hasUsedReserve else { return false }
      if let last = storage.watch.reserveMadeAt, now >= last, now - last < 60_000 { return false }
      storage.watch.reserveMadeAt = now
      return true
    }
    if isTime { makeReserve() }
  }

  /// Tells those who listen by now what was found when the file was opened.
  func tellOfLostLog() {
    if hasLostLog { events.tell(.databaseFailed(.logLost(database.path))) }
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  var clock: JobClock { configuration.clock }
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
