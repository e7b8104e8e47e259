public import Foundation

/// A job that the queue enqueues again and again, as it is stored.
public struct PeriodicJob: Sendable, Hashable, Identifiable {
  /// Its name.
  public let name: String
  /// The kind of the jobs.
  public let kind: String
  /// When the jobs are enqueued.
  public let schedule: JobSchedule
  /// What becomes of the times that passed while no queue ran.
  public let catchUp: JobCatchUp
  /// When the next job is due; nil if there is none.
  public let nextAt: Date?

  /// The name.
  public var id: String { name }
}

extension DurableQueue {
  /// Enqueues a job again and again, by any process that runs a queue on the database; never twice
  /// for the same time.
  ///
  /// Call it at each launch: a stored name takes the new job, options and schedule, and keeps its
  /// next time if the schedule is the same. If the rules of its time zone have changed, a queue
  /// computes the next time again when it starts. ``JobContext/occurrence`` tells an attempt which
  /// time it is for.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - name: the name of the periodic job in the database.
  ///   - schedule: the times. The first one is after this call.
  ///   - options: how the jobs run. `start` and `dependsOn` do not count. With a unique key that
  ///     rejects, a time is skipped while the previous job has not ended.
  ///   - catchUp: what becomes of the times that passed while no queue ran.
  public func schedule<J: Job>(
    _ job: J, named name: String, _ schedule: JobSchedule, options: JobOptions = JobOptions(),
    catchUp: JobCatchUp = .latest
  ) throws {
    let request = try core.requests(for: [job], options)[0]
    try core.database.sync { try core.schedule(request, named: name, schedule, catchUp, in: $0) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func schedule<J: Job>(
    _ job: J, named name: String, _ schedule: JobSchedule, options: JobOptions = JobOptions(),
    catchUp: JobCatchUp = .latest
  ) async throws {
    let request = try core.requests(for: [job], options)[0]
    try await core.database.run { [core] in try core.schedule(request, named: name, schedule, catchUp, in: $0) }
  }

  /// Stops enqueuing a periodic job. Jobs that were enqueued stay.
  ///
  /// - Returns: whether there was one with this name.
  @discardableResult
  public func unschedule(named name: String) throws -> Bool {
    try core.database.sync { try $0.unschedule(name) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func unschedule(named name: String) async throws -> Bool {
    try await core.database.run { try $0.unschedule(name) }
  }

  /// Returns the periodic jobs, sorted by name.
  ///
  /// - Throws: ``JobError/Code/unreadablePeriodicJob`` if one of them cannot be read, or
  ///   ``DatabaseError``. ``periodicJobs(onUnreadable:)`` returns the others.
  public func periodicJobs() throws -> [PeriodicJob] {
    try core.reader.sync { try $0.periodicJobs() }.map { PeriodicJob(try $0.get()) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func periodicJobs() async throws -> [PeriodicJob] {
    try await core.reader.run { try $0.periodicJobs().map { PeriodicJob(try $0.get()) } }
  }

  /// Returns the periodic jobs that can be read, sorted by name.
  ///
  /// - Parameter report: receives the error of each periodic job that cannot be read, for example
  ///   since this machine does not know its time zone: ``JobError/Code/unreadablePeriodicJob``,
  ///   with its ``JobError/periodicJobName``. Called on the thread of the caller.
  public func periodicJobs(onUnreadable report: (JobError) -> Void) throws -> [PeriodicJob] {
    Self.readable(try core.reader.sync { try $0.periodicJobs() }, onUnreadable: report)
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  ///
  /// `report` is called in the isolation of the caller.
  public func periodicJobs(
    isolation: isolated (any Actor)? = #isolation, onUnreadable report: (JobError) -> Void
  ) async throws -> [PeriodicJob] {
    Self.readable(try await core.reader.run { try $0.periodicJobs() }, onUnreadable: report)
  }

  private static func readable(
    _ rows: [Result<PeriodicRow, JobError>], onUnreadable report: (JobError) -> Void
  ) -> [PeriodicJob] {
    rows.compactMap { result in
      switch result {
      case .success(let row): return PeriodicJob(row)
      case .failure(let error):
        report(error)
        return nil
      }
    }
  }
}

extension PeriodicJob {
  fileprivate init(_ row: PeriodicRow) {
    self.init(
      name: row.name, kind: row.kind, schedule: row.schedule, catchUp: row.catchUp,
      nextAt: row.nextAt.map { Date(milliseconds: $0) })
  }
}

extension QueueCore {
  fileprivate func schedule(
    _ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp, in store: any StoreSession
  ) throws {
    try store.schedule(job, named: name, schedule, catchUp)
    lookAhead(in: store)
  }
}
