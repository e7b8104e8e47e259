import CompositeOperations
import Foundation

extension DurableQueue {
  // MARK: - Questions

  /// Returns a job; nil if there is none with this number.
  public func job(_ id: JobID) throws -> JobRecord? {
    try core.reader.sync { try $0.record(id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func job(_ id: JobID) async throws -> JobRecord? {
    try await core.reader.run { try $0.record(id) }
  }

  /// Returns jobs in the order of their numbers, a page at a time. On a server, a job may become
  /// visible after one with a larger number: a walk through the pages may miss a job that is being
  /// stored.
  ///
  /// - Parameters:
  ///   - kind: the kind of the jobs; nil for all.
  ///   - states: the states of the jobs; nil for all.
  ///   - last: the last job of the page before; nil for the first page.
  ///   - limit: the maximum number of jobs. Traps if it is negative.
  public func jobs(
    kind: String? = nil, in states: Set<JobState>? = nil, after last: JobID? = nil, limit: Int = 100
  ) throws -> [JobRecord] {
    require(limit >= 0, "DurableQueue.jobs was given the limit \(limit). Use zero or more.")
    return try core.reader.sync { try $0.records(JobFilter(kind: kind, states: states), after: last, limit: limit) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func jobs(
    kind: String? = nil, in states: Set<JobState>? = nil, after last: JobID? = nil, limit: Int = 100
  ) async throws -> [JobRecord] {
    require(limit >= 0, "DurableQueue.jobs was given the limit \(limit). Use zero or more.")
    return try await core.reader.run { store in
      try store.records(JobFilter(kind: kind, states: states), after: last, limit: limit)
    }
  }

  /// Returns the jobs of a type that have a unique key, in the order of their numbers.
  public func jobs<J: Job>(_ type: J.Type, uniqueKey: String) throws -> [JobRecord] {
    try core.reader.sync { try $0.records(uniqueKey: uniqueKey, kind: J.kind) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func jobs<J: Job>(_ type: J.Type, uniqueKey: String) async throws -> [JobRecord] {
    let kind = J.kind
    return try await core.reader.run { try $0.records(uniqueKey: uniqueKey, kind: kind) }
  }

  /// Counts the jobs by kind and state.
  ///
  /// In a file this takes the same time for any number of jobs: the queue keeps the numbers, and
  /// counts changes that other programs made to the jobs when it compacts the file. On a server it
  /// reads up to 100,000 jobs; if there are more, some of the numbers are estimates: see
  /// ``JobCounts/isApproximate``.
  public func counts() throws -> JobCounts {
    let registered = registeredKinds
    return try core.reader.sync { try $0.counts(registered: registered) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func counts() async throws -> JobCounts {
    let registered = registeredKinds
    return try await core.reader.run { try $0.counts(registered: registered) }
  }

  // MARK: - One job

  /// Cancels a job. A job that executes, in any process, is asked to end; it is cancelled once it
  /// has ended, unless it succeeds all the same. Does nothing if the job is cancelled already.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it is done or dead.
  public func cancel(_ id: JobID) throws {
    let state = try write { try $0.cancel(id) }
    if state == .executing { core.cancelIsStored(of: id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func cancel(_ id: JobID) async throws {
    let state = try await write { try $0.cancel(id) }
    if state == .executing { core.cancelIsStored(of: id) }
  }

  /// Makes a job that is held, dead, cancelled or scheduled run as soon as there is room, with all
  /// its attempts before it.
  ///
  /// The job is blocked first if some of its prerequisites are not done.
  ///
  /// - Throws: ``JobError`` if there is no such job, it is in another state, or another job now has
  ///   its unique key.
  public func retry(_ id: JobID) throws {
    try write { try $0.retry(id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func retry(_ id: JobID) async throws {
    try await write { try $0.retry(id) }
  }

  /// Retries all held, or all dead, jobs. Dead jobs whose unique key another job now has stay as
  /// they are. Of several dead jobs with one key, the last is retried.
  ///
  /// Like all calls for many jobs, this uses transactions of a thousand jobs each.
  ///
  /// - Returns: the number of retried jobs.
  @discardableResult
  public func retryAll(_ state: RetriableState, kind: String? = nil) throws -> Int {
    let state: JobState = state == .held ? .held : .dead
    let ids = try core.reader.sync { try $0.retriable(state, kind: kind) }
    return try writeInParts(ids) { store, part, _ in try store.retry(part, in: state) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func retryAll(_ state: RetriableState, kind: String? = nil) async throws -> Int {
    let state: JobState = state == .held ? .held : .dead
    let ids = try await core.reader.run { try $0.retriable(state, kind: kind) }
    return try await writeInParts(ids) { store, part, _ in try store.retry(part, in: state) }
  }

  /// The jobs that `retryAll(_:kind:)` retries.
  public enum RetriableState: Sendable, Hashable {
    /// The held jobs.
    case held
    /// The dead jobs.
    case dead
  }

  /// Holds a job that does not run yet, until it is retried.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it executes or has ended.
  public func hold(_ id: JobID) throws {
    try write { try $0.hold(id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func hold(_ id: JobID) async throws {
    try await write { try $0.hold(id) }
  }

  /// Changes a job's priority. For a job that executes, it counts for the next attempt.
  public func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try write { try $0.setPriority(priority, of: id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func setPriority(_ priority: JobPriority, of id: JobID) async throws {
    try await write { try $0.setPriority(priority, of: id) }
  }

  /// Changes the priority of all jobs of a kind that are not done or cancelled.
  ///
  /// - Returns: the number of jobs.
  @discardableResult
  public func setPriority(_ priority: JobPriority, kind: String) throws -> Int {
    try setPriority(PriorityChange(major: priority.major, minor: priority.minor), kind: kind)
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func setPriority(_ priority: JobPriority, kind: String) async throws -> Int {
    try await setPriority(PriorityChange(major: priority.major, minor: priority.minor), kind: kind)
  }

  /// Changes the major priority of all jobs of a kind that are not done or cancelled. They keep
  /// their minor priorities, and so their order among each other.
  ///
  /// - Returns: the number of jobs.
  @discardableResult
  public func setMajorPriority(_ major: Int, kind: String) throws -> Int {
    try setPriority(PriorityChange(major: major, minor: nil), kind: kind)
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func setMajorPriority(_ major: Int, kind: String) async throws -> Int {
    try await setPriority(PriorityChange(major: major, minor: nil), kind: kind)
  }

  private static let unfinished = Set(JobState.allCases).subtracting([.done, .cancelled])

  private func setPriority(_ change: PriorityChange, kind: String) throws -> Int {
    let ids = try core.reader.sync { try $0.ids(JobFilter(kind: kind, states: Self.unfinished)) }
    return try writeInParts(ids) { store, part, _ in try store.setPriority(change, of: part) }
  }

  private func setPriority(_ change: PriorityChange, kind: String) async throws -> Int {
    let ids = try await core.reader.run { try $0.ids(JobFilter(kind: kind, states: Self.unfinished)) }
    return try await writeInParts(ids) { store, part, _ in try store.setPriority(change, of: part) }
  }

  /// Deletes a job. Its dependents are cancelled, or follow their own options; those of a job that
  /// was replaced while it executed, and is to run again, wait for the one in its place.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it executes.
  public func delete(_ id: JobID) throws {
    try write { try $0.delete(id) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func delete(_ id: JobID) async throws {
    try await write { try $0.delete(id) }
  }

  // MARK: - Many

  /// Cancels all jobs of a kind that have not ended. Jobs that execute, in any process, are asked
  /// to end, as by `cancel(_:)`.
  ///
  /// - Returns: the number of jobs.
  @discardableResult
  public func cancelAll(kind: String) throws -> Int {
    let ids = try core.reader.sync { try $0.ids(JobFilter(kind: kind, states: Self.cancellable)) }
    return try writeInParts(ids) { [core] store, part, _ in try core.cancel(part, in: store) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func cancelAll(kind: String) async throws -> Int {
    let ids = try await core.reader.run { try $0.ids(JobFilter(kind: kind, states: Self.cancellable)) }
    return try await writeInParts(ids) { [core] store, part, _ in try core.cancel(part, in: store) }
  }

  private static let cancellable: Set<JobState> = [.waiting, .scheduled, .blocked, .held, .executing]
  private static let unstarted: Set<JobState> = [.waiting, .scheduled, .blocked, .held]

  /// Deletes all jobs that do not run yet: those that wait, or are scheduled, blocked or held.
  /// Executing jobs go on.
  ///
  /// - Returns: the number of deleted jobs.
  @discardableResult
  public func deleteUnstarted(kind: String? = nil) throws -> Int {
    try deleteAll(kind: kind, in: Self.unstarted)
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func deleteUnstarted(kind: String? = nil) async throws -> Int {
    try await deleteAll(kind: kind, in: Self.unstarted)
  }

  /// Deletes all jobs in some states, except those that execute.
  ///
  /// - Returns: the number of deleted jobs.
  @discardableResult
  public func deleteAll(kind: String? = nil, in states: Set<JobState>) throws -> Int {
    let filter = JobFilter(kind: kind, states: states.subtracting([.executing]))
    // Dependents go before their prerequisites: numbers are given in that order, except within one
    // call.
    let ids = try core.reader.sync { try $0.ids(filter) }
    return try writeInParts(ids) { store, part, failed in
      try store.delete(part, in: filter.states ?? [], failed: &failed)
    }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func deleteAll(kind: String? = nil, in states: Set<JobState>) async throws -> Int {
    let filter = JobFilter(kind: kind, states: states.subtracting([.executing]))
    let ids = try await core.reader.run { try $0.ids(filter) }
    return try await writeInParts(ids) { store, part, failed in
      try store.delete(part, in: filter.states ?? [], failed: &failed)
    }
  }

  // MARK: - Kinds

  /// Pauses a kind: no process claims its jobs until it is resumed. The pause is stored. Executing
  /// jobs go on, and so does a claim that another process of a server has begun.
  public func pause(kind: String) throws {
    try core.database.sync { try $0.setPaused(true, kind: kind) }
    core.followKindRules()
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func pause(kind: String) async throws {
    try await core.database.run { try $0.setPaused(true, kind: kind) }
    core.followKindRules()
  }

  /// Lets processes claim the jobs of a paused kind again.
  public func resume(kind: String) throws {
    try core.database.sync { try $0.setPaused(false, kind: kind) }
    core.followKindRules()
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func resume(kind: String) async throws {
    try await core.database.run { try $0.setPaused(false, kind: kind) }
    core.followKindRules()
  }

  /// Limits how many jobs of a kind execute at once in all processes together, whatever
  /// `maxConcurrent` each process has registered; nil for no limit. The limit is stored. Executing
  /// jobs go on.
  ///
  /// A job without room waits, and one of another kind runs in its place. On a server, the claims
  /// of limited kinds come one after the other. When a job ends, the next one starts at once in the
  /// same process. In another process it starts within milliseconds on a server, and at that
  /// process's next look where processes share a file.
  ///
  /// - Precondition: the limit is 1 or more. Use `pause(kind:)` to run none.
  public func limit(kind: String, to limit: Int?) throws {
    requireLimit(limit, kind)
    try core.database.sync { try $0.setLimit(limit, kind: kind) }
    core.followKindRules()
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func limit(kind: String, to limit: Int?) async throws {
    requireLimit(limit, kind)
    try await core.database.run { try $0.setLimit(limit, kind: kind) }
    core.followKindRules()
  }

  private func requireLimit(_ limit: Int?, _ kind: String) {
    require(limit ?? 1 >= 1, "The kind “\(kind)” was limited to \(limit ?? 0). Use 1 or more, or pause it.")
  }

  // MARK: - Writing

  /// Changes many jobs in several transactions, so that other work comes in between. Returns the
  /// number of jobs.
  ///
  /// - Parameter body: changes some of the jobs; its last argument is what it noted for the ones
  ///   before.
  private func writeInParts(
    _ ids: [JobID], _ body: @Sendable (any StoreSession, ArraySlice<JobID>, inout Set<JobID>) throws -> Int
  ) throws -> Int {
    var count = 0
    var noted: Set<JobID> = []
    for part in Self.parts(of: ids) { count += try write { try body($0, part, &noted) } }
    return count
  }

  private func writeInParts(
    _ ids: [JobID], _ body: @escaping @Sendable (any StoreSession, ArraySlice<JobID>, inout Set<JobID>) throws -> Int
  ) async throws -> Int {
    var count = 0
    var noted: Set<JobID> = []
    for part in Self.parts(of: ids) {
      let before = noted
      let (changed, after) = try await write { store in
        var noted = before
        return (try body(store, part, &noted), noted)
      }
      count += changed
      noted = after
    }
    return count
  }

  private static func parts(of ids: [JobID]) -> some Sequence<ArraySlice<JobID>> {
    stride(from: 0, to: ids.count, by: 1000).lazy.map { ids[$0..<min($0 + 1000, ids.count)] }
  }

  /// Makes a change, and then looks for jobs that it made due.
  private func write<R>(_ body: (any StoreSession) throws -> R) throws -> R {
    let result = try core.database.sync { try write(in: $0, body) }
    core.pump()
    return result
  }

  private func write<R: Sendable>(_ body: @escaping @Sendable (any StoreSession) throws -> R) async throws -> R {
    let result = try await core.database.run { [self] in try write(in: $0, body) }
    core.pump()
    return result
  }

  private func write<R>(in store: any StoreSession, _ body: (any StoreSession) throws -> R) throws -> R {
    let result = try body(store)
    core.withLock { $0.state.workMayHaveCome() }
    core.lookAhead(in: store)
    return result
  }
}
