import Foundation

extension DurableQueue {
  /// Returns the processes that run jobs of this queue, on all machines, in the order in which they
  /// joined.
  ///
  /// A process joins when it claims its first job. It leaves when it has had nothing to run for a
  /// while, or stops. A process that was killed stays until another one has taken over its jobs.
  ///
  /// - Throws: ``DatabaseError`` if the database cannot be read.
  public func workers() throws -> [JobWorker] {
    try core.reader.sync { try $0.workers().map(JobWorker.init) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func workers() async throws -> [JobWorker] {
    try await core.reader.run { try $0.workers().map(JobWorker.init) }
  }
}

extension JobWorker {
  init(_ stored: StoredWorker) {
    let (row, identity) = (stored.row, stored.row.identity)
    let hasName = !["", ProcessIdentity.namelessHost].contains(identity.hostName)
    self.init(
      id: row.id, hostName: hasName ? identity.hostName : nil, processID: identity.processID,
      isOnThisMachine: identity.isNeighbour(of: .current), liveness: Liveness(identity.liveness()),
      leaseEnd: Date(milliseconds: row.leaseUntil),
      leaseLeft: .milliseconds(row.leaseUntil.clampedDifference(to: stored.now)),
      runningJobs: stored.jobs)
  }
}

extension JobWorker.Liveness {
  fileprivate init(_ liveness: ProcessIdentity.Liveness) {
    self =
      switch liveness {
      case .alive: .alive
      case .dead: .dead
      case .unknown: .unknown
      }
  }
}
