import Foundation

extension SQLiteSession {
  // MARK: - One job

  func cancel(_ id: JobID) throws -> JobState { try managing { try store.cancel(id) } }

  func retry(_ id: JobID) throws { try managing { try store.retry(id) } }

  func hold(_ id: JobID) throws { try managing { try store.hold(id) } }

  func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try managing { try store.setPriority(priority, of: id) }
  }

  func delete(_ id: JobID) throws { try managing { try store.delete(id) } }

  // MARK: - Many

  func ids(_ filter: JobFilter) throws -> [JobID] { try store.ids(filter) }

  func retriable(_ state: JobState, kind: String?) throws -> [JobID] { try store.retriable(state, kind: kind) }

  func cancel(_ ids: ArraySlice<JobID>) throws -> (count: Int, isAnyExecuting: Bool) {
    try managing { try store.cancel(ids) }
  }

  func retry(_ ids: ArraySlice<JobID>, in state: JobState) throws -> Int {
    try managing { try store.retry(ids, in: state) }
  }

  func setPriority(_ change: PriorityChange, of ids: ArraySlice<JobID>) throws -> Int {
    try managing { try store.setPriority(change, of: ids) }
  }

  func delete(_ ids: ArraySlice<JobID>, in states: Set<JobState>, failed: inout Set<JobID>) throws -> Int {
    try managing { try store.delete(ids, in: states, failed: &failed) }
  }

  // MARK: - Kinds and periodic jobs

  func number(ofKind name: String) throws -> Int64 {
    try store.transaction { try store.kindID(name) }
  }

  func setPaused(_ isPaused: Bool, kind: String) throws {
    try managing { try store.setPaused(isPaused, kind: kind) }
  }

  func setLimit(_ limit: Int?, kind: String) throws {
    try managing { try store.setLimit(limit, kind: kind) }
  }

  func kindRules() throws -> KindRules { try store.kindRules() }

  func schedule(_ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp) throws {
    try store.transaction { try store.schedule(job, named: name, schedule, catchUp) }
  }

  func unschedule(_ name: String) throws -> Bool { try managing { try store.unschedule(name) } }

  // MARK: - Room

  /// Compacts the file. While the file is rewritten, no process can write: this one cannot renew
  /// its lease, and others cannot act on that. So this announces its absence first.
  func compact(worker: Int64?, lease: Duration) throws -> Int {
    let timeout = configuration.busyTimeout
    guard let worker else { return try store.compact(busyTimeout: timeout) }
    // A slow disk writes a megabyte in a second; and other processes are waited for three times.
    let absence = min(timeout.milliseconds, 3_600_000) * 3 + Int64(store.fileSize) / 1000
    _ = try store.transaction { try store.prolongLease(of: worker, by: lease.milliseconds + absence) }
    defer {
      // If that cannot be written, the next look does it.
      _ = try? store.transaction { try store.prolongLease(of: worker, by: lease.milliseconds) }
    }
    return try store.compact(busyTimeout: timeout)
  }

  // MARK: - Questions

  func record(_ id: JobID) throws -> JobRecord? { try store.record(id) }

  func records(_ filter: JobFilter, after: JobID?, limit: Int) throws -> [JobRecord] {
    try store.records(filter, after: after, limit: limit)
  }

  func records(uniqueKey: String, kind: String) throws -> [JobRecord] {
    try store.records(uniqueKey: uniqueKey, kind: kind)
  }

  func counts(registered: [String]) throws -> JobCounts { try store.counts(registered: registered) }

  func periodicJobs() throws -> [Result<PeriodicRow, JobError>] { try store.periodicJobs() }

  func state(of id: JobID) throws -> JobState? { try store.state(of: id) }

  func isBusy(with kinds: [Int64]) throws -> Bool {
    // Its statements would miss a job that another process claims between them.
    try store.connection.reading { try store.isBusy(with: kinds) }
  }

  func knownKinds() throws -> [String] { try store.knownKinds() }

  func workers() throws -> [StoredWorker] { try store.storedWorkers() }

  func size() throws -> Int { store.fileSize }
}
