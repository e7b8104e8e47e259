import CompositeOperations
import Foundation

extension DurableQueue {
  // MARK: - Questions

  /// A job; nil if there is none with this number.
  public func job(_ id: JobID) throws -> JobRecord? {
    try core.reader.sync { try $0.record(id) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func job(_ id: JobID) async throws -> JobRecord? {
    try await core.reader.run { try $0.record(id) }
  }

  /// Jobs in the order of their numbers, a page at a time. On a server a job may become visible after one with a larger number:
  /// a walk through the pages may pass one that is being stored.
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

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func jobs(
    kind: String? = nil, in states: Set<JobState>? = nil, after last: JobID? = nil, limit: Int = 100
  ) async throws -> [JobRecord] {
    require(limit >= 0, "DurableQueue.jobs was given the limit \(limit). Use zero or more.")
    return try await core.reader.run { store in
      try store.records(JobFilter(kind: kind, states: states), after: last, limit: limit)
    }
  }

  /// The jobs of a type that have a unique key, in the order of their numbers.
  public func jobs<J: Job>(_ type: J.Type, uniqueKey: String) throws -> [JobRecord] {
    try core.reader.sync { try $0.records(uniqueKey: uniqueKey, kind: J.kind) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func jobs<J: Job>(_ type: J.Type, uniqueKey: String) async throws -> [JobRecord] {
    let kind = J.kind
    return try await core.reader.run { try $0.records(uniqueKey: uniqueKey, kind: kind) }
  }

  /// How many jobs there are, by kind and state. In a file it takes the same time however many there are: the numbers are kept,
  /// and what another program has changed of the jobs is counted when the file is compacted. On a server it reads up to 100,000
  /// jobs; if there are more, some of the numbers are estimates: see ``JobCounts/isApproximate``.
  public func counts() throws -> JobCounts {
    let registered = registeredKinds
    return try core.reader.sync { try $0.counts(registered: registered) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func counts() async throws -> JobCounts {
    let registered = registeredKinds
    return try await core.reader.run { try $0.counts(registered: registered) }
  }

  // MARK: - One job

  /// Cancels a job. One that executes is asked to end, in whichever process; it is cancelled when it has, unless it
  /// succeeds all the same. Does nothing if it is cancelled.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it is done or dead.
  public func cancel(_ id: JobID) throws {
    let state = try write { try $0.cancel(id) }
    if state == .executing { core.cancelIsStored(of: id) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func cancel(_ id: JobID) async throws {
    let state = try await write { try $0.cancel(id) }
    if state == .executing { core.cancelIsStored(of: id) }
  }

  /// Has a job that is held, dead, cancelled or scheduled run as soon as there is room, with all its attempts before it.
  ///
  /// It is blocked first if some of its prerequisites are not done.
  ///
  /// - Throws: ``JobError`` if there is no such job, it is in another state, or another job has its unique key by now.
  public func retry(_ id: JobID) throws {
    try write { try $0.retry(id) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func retry(_ id: JobID) async throws {
    try await write { try $0.retry(id) }
  }

  /// The same for all jobs that are held, or dead. Dead ones whose unique key another has by now stay as they are. Of
  /// several dead ones with one key the last is retried.
  ///
  /// It is done in transactions of a thousand jobs, as is everything that is about many.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func retryAll(_ state: RetriableState, kind: String? = nil) throws -> Int {
    let state: JobState = state == .held ? .held : .dead
    let ids = try core.reader.sync { try $0.retriable(state, kind: kind) }
    return try writeInParts(ids) { store, part, _ in try store.retry(part, in: state) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func retryAll(_ state: RetriableState, kind: String? = nil) async throws -> Int {
    let state: JobState = state == .held ? .held : .dead
    let ids = try await core.reader.run { try $0.retriable(state, kind: kind) }
    return try await writeInParts(ids) { store, part, _ in try store.retry(part, in: state) }
  }

  /// What `retryAll(_:kind:)` is about.
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

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func hold(_ id: JobID) async throws {
    try await write { try $0.hold(id) }
  }

  /// Changes a job's priority. Of one that executes it counts for the next attempt.
  public func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try write { try $0.setPriority(priority, of: id) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func setPriority(_ priority: JobPriority, of id: JobID) async throws {
    try await write { try $0.setPriority(priority, of: id) }
  }

  /// Changes the priority of all jobs of a kind that are not done or cancelled.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func setPriority(_ priority: JobPriority, kind: String) throws -> Int {
    try setPriority(PriorityChange(major: priority.major, minor: priority.minor), kind: kind)
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func setPriority(_ priority: JobPriority, kind: String) async throws -> Int {
    try await setPriority(PriorityChange(major: priority.major, minor: priority.minor), kind: kind)
  }

  /// Changes the major priority of all jobs of a kind that are not done or cancelled. Their order among each other stays: the
  /// minor priorities are as they were.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func setMajorPriority(_ major: Int, kind: String) throws -> Int {
    try setPriority(PriorityChange(major: major, minor: nil), kind: kind)
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
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

  /// Deletes a job. Those that depend on it are cancelled, or as their options say. On a full disk of this machine, see
  /// ``Configuration/diskReserve``.
  ///
  /// - Throws: ``JobError`` if there is no such job, or it executes.
  public func delete(_ id: JobID) throws {
    try write { try $0.delete(id) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func delete(_ id: JobID) async throws {
    try await write { try $0.delete(id) }
  }

  // MARK: - Many

  /// Cancels all jobs of a kind that have not ended. Those that execute are asked to end, in whichever process, as
  /// `cancel(_:)` does it.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func cancelAll(kind: String) throws -> Int {
    let ids = try core.reader.sync { try $0.ids(JobFilter(kind: kind, states: Self.cancellable)) }
    return try writeInParts(ids) { [core] store, part, _ in try core.cancel(part, in: store) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func cancelAll(kind: String) async throws -> Int {
    let ids = try await core.reader.run { try $0.ids(JobFilter(kind: kind, states: Self.cancellable)) }
    return try await writeInParts(ids) { [core] store, part, _ in try core.cancel(part, in: store) }
  }

  private static let cancellable: Set<JobState> = [.waiting, .scheduled, .blocked, .held, .executing]
  private static let unstarted: Set<JobState> = [.waiting, .scheduled, .blocked, .held]

  /// Deletes all jobs that do not run yet: those that wait, are scheduled, blocked, or held. What executes goes on.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func deleteUnstarted(kind: String? = nil) throws -> Int {
    try deleteAll(kind: kind, in: Self.unstarted)
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func deleteUnstarted(kind: String? = nil) async throws -> Int {
    try await deleteAll(kind: kind, in: Self.unstarted)
  }

  /// The former name of `deleteUnstarted(kind:)`.
  @available(*, deprecated, renamed: "deleteUnstarted(kind:)")
  @discardableResult
  public func drain(kind: String? = nil) throws -> Int {
    try deleteUnstarted(kind: kind)
  }

  /// Deletes all jobs in some states but those that execute.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func deleteAll(kind: String? = nil, in states: Set<JobState>) throws -> Int {
    let filter = JobFilter(kind: kind, states: states.subtracting([.executing]))
    // What depends on others goes before them: numbers are given in that order, but for those of one call.
    let ids = try core.reader.sync { try $0.ids(filter) }
    return try writeInParts(ids) { store, part, failed in
      try store.delete(part, in: filter.states ?? [], failed: &failed)
    }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func deleteAll(kind: String? = nil, in states: Set<JobState>) async throws -> Int {
    let filter = JobFilter(kind: kind, states: states.subtracting([.executing]))
    let ids = try await core.reader.run { try $0.ids(filter) }
    return try await writeInParts(ids) { store, part, failed in
      try store.delete(part, in: filter.states ?? [], failed: &failed)
    }
  }

  // MARK: - Kinds

  /// Keeps jobs of a kind from being claimed, in all processes, until they are resumed. It is stored. What executes goes
  /// on, and so does a claim that another process of a server has begun.
  public func pause(kind: String) throws {
    try core.database.sync { try $0.setPaused(true, kind: kind) }
    core.followKindRules()
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func pause(kind: String) async throws {
    try await core.database.run { try $0.setPaused(true, kind: kind) }
    core.followKindRules()
  }

  /// Has jobs of a paused kind claimed again.
  public func resume(kind: String) throws {
    try core.database.sync { try $0.setPaused(false, kind: kind) }
    core.followKindRules()
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func resume(kind: String) async throws {
    try await core.database.run { try $0.setPaused(false, kind: kind) }
    core.followKindRules()
  }

  /// Lets no more than so many jobs of a kind execute at once in all processes together, whatever each allows itself by the
  /// `maxConcurrent` of its registration; nil for any number. It is stored. What executes goes on.
  ///
  /// A job for which there is no room waits, and one of another kind runs in its stead. On a server the claims of limited kinds
  /// come one after the other; where a job ends, the next one starts at once in the same process, and within milliseconds in
  /// another one on a server, at its next look where processes share a file.
  ///
  /// - Precondition: the limit is 1 or more. `pause(kind:)` is for none at all.
  public func limit(kind: String, to limit: Int?) throws {
    requireLimit(limit, kind)
    try core.database.sync { try $0.setLimit(limit, kind: kind) }
    core.followKindRules()
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func limit(kind: String, to limit: Int?) async throws {
    requireLimit(limit, kind)
    try await core.database.run { try $0.setLimit(limit, kind: kind) }
    core.followKindRules()
  }

  private func requireLimit(_ limit: Int?, _ kind: String) {
    require(limit ?? 1 >= 1, "The kind “\(kind)” was limited to \(limit ?? 0). Use 1 or more, or pause it.")
  }

  // MARK: - Writing

  /// Changes many jobs, some in each transaction, so that others come between. Returns how many.
  ///
  /// - Parameter body: changes some; the last argument is what it noted of those before.
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

  /// Changes something, and looks for what has become due by it.
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
