public import Foundation

/// A job that is enqueued again and again, as it is stored.
public struct PeriodicJob: Sendable, Hashable, Identifiable {
  /// Its name.
  public let name: String
  /// The kind of the jobs.
  public let kind: String
  /// When they are enqueued.
  public let schedule: JobSchedule
  /// What becomes of times that passed while no queue ran.
  public let catchUp: JobCatchUp
  /// When the next is due; nil if there is none.
  public let nextAt: Date?

  /// The name.
  public var id: String { name }
}

extension DurableQueue {
  /// Has a job enqueued again and again, by whichever process runs a queue on the database; never twice for the same time.
  ///
  /// Call it at each launch: a name that is stored already takes the new job, options and schedule, and its next time
  /// stays as it is if the schedule does. ``JobContext/occurrence`` tells an attempt which time it is for.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - name: what the periodic job is known by in the database.
  ///   - schedule: when. The first time is after this call.
  ///   - options: how the jobs are to run. `start` and `dependsOn` do not count. With a unique key that is rejected, a time is left out
  ///     while the job of the one before has not ended.
  ///   - catchUp: what becomes of times that passed while no queue ran.
  public func schedule<J: Job>(
    _ job: J, named name: String, _ schedule: JobSchedule, options: JobOptions = JobOptions(),
    catchUp: JobCatchUp = .latest
  ) throws {
    let encoded = try core.encode([job], options)[0]
    let now = core.clock.milliseconds
    try core.database.sync { store in
      try store.transaction { try store.schedule(encoded, named: name, schedule, catchUp, now: now) }
      core.lookAhead(in: store, now: now)
    }
  }

  /// No longer enqueues a periodic job. What was enqueued stays.
  ///
  /// - Returns: whether there was one with this name.
  @discardableResult
  public func unschedule(named name: String) throws -> Bool {
    try core.database.sync { store in try store.transaction { try store.unschedule(name) } }
  }

  /// The periodic jobs, in the order of their names.
  ///
  /// - Throws: ``JobError/Code/unreadablePeriodicJob`` if one of them cannot be read, ``DatabaseError``.
  public func periodicJobs() throws -> [PeriodicJob] {
    try core.reader.sync { store in
      try store.periodicJobs().map { row in
        PeriodicJob(
          name: row.name, kind: row.kind, schedule: row.schedule, catchUp: row.catchUp,
          nextAt: row.nextAt.map { Date(milliseconds: $0) })
      }
    }
  }
}
