/// A process that runs jobs of the file, or did.
struct WorkerRow: Sendable {
  let id: Int64
  let identity: ProcessIdentity
  /// How long its leases are.
  let lease: Int64
  let leaseUntil: Int64

  /// What has become of its process; nil if its jobs are still its own.
  ///
  /// - Parameters:
  ///   - now: the date; nil if leases cannot be compared with it.
  ///   - age: for how long its lease has not been prolonged, at least.
  ///   - connected: for how long this process could see what the others do; nil if nothing comes
  ///     between them.
  func loss(
    _ liveness: ProcessIdentity.Liveness, at now: Int64?, unchangedFor age: Duration, connectedFor connected: Duration?
  ) -> WorkerLoss? {
    if liveness == .dead { return .ofDeadProcess }
    // Those that could not reach the server for as long as this process may be about to come back.
    if let connected, connected < .milliseconds(lease / 3) { return nil }
    // The date is that of a server, which may be set, or belong to another server by now: alone it
    // proves nothing.
    let isOver = hasRunOut(at: now, unchangedFor: age, isAlive: liveness == .alive || connected != nil)
    guard isOver else { return nil }
    return liveness == .alive ? .stoodStill : .lapsed
  }

  /// Whether its lease is over.
  ///
  /// - Parameters:
  ///   - now: the date; nil if it may have been set anew. A process whose date was far ahead wrote
  ///     a lease that ends far ahead too, so the date alone does not tell.
  ///   - age: for how long it has not been prolonged, at least.
  ///   - isAlive: whether the process is there for sure. After the machine slept all leases are
  ///     over, and processes that wake later than others keep theirs.
  func hasRunOut(at now: Int64?, unchangedFor age: Duration, isAlive: Bool) -> Bool {
    if age >= .milliseconds(lease) { return true }
    guard let now, leaseUntil < now else { return false }
    return !isAlive || age >= .milliseconds(lease / 3)
  }
}

/// A process that runs jobs, with the jobs that it executes.
struct StoredWorker: Sendable {
  let row: WorkerRow
  /// The date by the store's clock when this was read.
  let now: Int64
  var jobs: [JobWorker.RunningJob]
}

extension [StoredWorker] {
  /// Adds a job to a worker: to the last worker, or to a new one behind it.
  ///
  /// - Parameter job: nil for a worker that executes nothing.
  mutating func add(_ row: WorkerRow, _ job: JobWorker.RunningJob?, at now: Int64) {
    if last?.row.id != row.id { append(StoredWorker(row: row, now: now, jobs: [])) }
    if let job { self[count - 1].jobs.append(job) }
  }
}
