import CompositeOperations
import Foundation

extension DurableQueue {
  // MARK: - Questions

  /// A job; nil if there is none with this number.
  public func job(_ id: JobID) throws -> JobRecord? {
    try core.reader.sync { try $0.record(id) }
  }

  /// Jobs in the order of their numbers, a page at a time.
  ///
  /// - Parameters:
  ///   - kind: only those of a kind; nil for all.
  ///   - states: only those in one of these states; nil for all.
  ///   - last: the last job of the page before; nil for the first page.
  ///   - limit: how many at most. Traps if it is negative.
  public func jobs(
    kind: String? = nil, in states: Set<JobState>? = nil, after last: JobID? = nil, limit: Int = 100
  ) throws -> [JobRecord] {
    require(limit >= 0, "DurableQueue.jobs was given the limit \(limit). Use zero or more.")
    return try core.reader.sync { try $0.records(JobFilter(kind: kind, states: states), after: last, limit: limit) }
  }

  /// The jobs of a type that have a unique key, in the order of their numbers.
  public func jobs<J: Job>(_ type: J.Type, uniqueKey: String) throws -> [JobRecord] {
    try core.reader.sync { try $0.records(uniqueKey: uniqueKey, kind: J.kind) }
  }

  /// How many jobs there are, by kind and state.
  public func counts() throws -> JobCounts {
    let registered = Set(registeredKinds)
    return try core.reader.sync { try $0.counts(registered: registered) }
  }

  // MARK: - One job

  /// Cancels a job. One that executes is asked to end, in whichever process; it is cancelled when it has, unless it
  /// succeeds all the same. Does nothing if it is cancelled.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it is done or dead.
  public func cancel(_ id: JobID) throws {
    let now = core.clock.milliseconds
    let state = try write { try $0.cancel(id, now: now) }
    if state == .executing { core.interrupt(id, .cancelRequest) }
  }

  /// Has a job that is held, dead, cancelled or scheduled run as soon as there is room, with all its attempts before it.
  ///
  /// It is blocked first if some of its prerequisites are not done.
  ///
  /// - Throws: ``JobError`` if there is no such job, it is in another state, or another job has its unique key by now.
  public func retry(_ id: JobID) throws {
    let now = core.clock.milliseconds
    try write { try $0.retry(id, now: now) }
  }

  /// The same for all jobs that are held, or dead. Dead ones whose unique key another has by now stay as they are. Of
  /// several dead ones with one key the last is retried.
  ///
  /// It is done in transactions of a thousand jobs, as is everything that is about many.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func retryAll(_ state: RetriableState, kind: String? = nil) throws -> Int {
    let now = core.clock.milliseconds
    let state: JobState = state == .held ? .held : .dead
    let ids = try core.reader.sync { try $0.retriable(state, kind: kind) }
    return try writeInParts(ids) { try $0.retry($1, in: state, now: now) }
  }

  /// What ``retryAll(_:kind:)`` is about.
  public enum RetriableState: Sendable, Hashable {
    /// Jobs that are held.
    case held
    /// Jobs that are dead.
    case dead
  }

  /// Keeps a job that does not run yet from running, until it is retried.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it executes or has ended.
  public func hold(_ id: JobID) throws {
    try write { try $0.hold(id) }
  }

  /// Changes a job's priority. Of one that executes it counts for the next attempt.
  public func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try write { try $0.setPriority(priority, of: id) }
  }

  /// Changes the priority of all jobs of a kind that are not done or cancelled.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func setPriority(_ priority: JobPriority, kind: String) throws -> Int {
    let states = Set(JobState.allCases).subtracting([.done, .cancelled])
    let ids = try core.reader.sync { try $0.ids(JobFilter(kind: kind, states: states)) }
    return try writeInParts(ids) { try $0.setPriority(priority, of: $1) }
  }

  /// Deletes a job. Those that depend on it are cancelled, or as their options say.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it executes.
  public func delete(_ id: JobID) throws {
    let now = core.clock.milliseconds
    try write { try $0.delete(id, now: now) }
  }

  // MARK: - Many

  /// Deletes all jobs that do not run yet: those that wait, are scheduled, blocked, or held. What executes goes on.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func drain(kind: String? = nil) throws -> Int {
    try deleteAll(JobFilter(kind: kind, states: [.waiting, .scheduled, .blocked, .held]))
  }

  /// Deletes all jobs in some states but those that execute.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func deleteAll(kind: String? = nil, in states: Set<JobState>) throws -> Int {
    try deleteAll(JobFilter(kind: kind, states: states.subtracting([.executing])))
  }

  private func deleteAll(_ filter: JobFilter) throws -> Int {
    let now = core.clock.milliseconds
    // What depends on others goes before them: numbers are given in that order, but for those of one call.
    let ids = try core.reader.sync { try $0.ids(filter) }
    var failed: Set<JobID> = []
    return try writeInParts(ids) { try $0.delete($1, in: filter.states ?? [], failed: &failed, now: now) }
  }

  /// Keeps jobs of a kind from being claimed, in all processes, until they are resumed. It is stored. What executes goes
  /// on.
  public func pause(kind: String) throws {
    try setPaused(true, kind: kind)
  }

  /// Has jobs of a paused kind claimed again.
  public func resume(kind: String) throws {
    try setPaused(false, kind: kind)
  }

  private func setPaused(_ isPaused: Bool, kind: String) throws {
    try core.database.sync { store in
      try store.transaction { try store.setPaused(isPaused, kind: kind) }
      let paused = try store.pausedKinds()
      core.withLock { $0.state.setPaused(paused) }
    }
    core.pump()
  }

  /// Changes many jobs, some in each transaction, so that others come between. Returns how many.
  private func writeInParts(_ ids: [JobID], _ body: (JobStore, ArraySlice<JobID>) throws -> Int) throws -> Int {
    var count = 0
    for start in stride(from: 0, to: ids.count, by: 1000) {
      count += try write { try body($0, ids[start..<min(start + 1000, ids.count)]) }
    }
    return count
  }

  /// Changes something, and looks for what has become due by it.
  private func write<R>(_ body: (JobStore) throws -> R) throws -> R {
    let result = try core.database.sync { store in
      let result = try store.transaction { try body(store) }
      core.withLock { $0.state.workMayHaveCome() }
      core.lookAhead(in: store, now: core.clock.milliseconds)
      return result
    }
    core.pump()
    return result
  }
}
