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
    let request = try core.requests(for: [job], options)[0]
    try core.database.sync { try core.schedule(request, named: name, schedule, catchUp, in: $0) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func schedule<J: Job>(
    _ job: J, named name: String, _ schedule: JobSchedule, options: JobOptions = JobOptions(),
    catchUp: JobCatchUp = .latest
  ) async throws {
    let request = try core.requests(for: [job], options)[0]
    try await core.database.run { [core] in try core.schedule(request, named: name, schedule, catchUp, in: $0) }
  }

  /// No longer enqueues a periodic job. What was enqueued stays.
  ///
  /// - Returns: whether there was one with this name.
  @discardableResult
  public func unschedule(named name: String) throws -> Bool {
    try core.database.sync { try $0.unschedule(name) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func unschedule(named name: String) async throws -> Bool {
    try await core.database.run { try $0.unschedule(name) }
  }

  /// The periodic jobs, in the order of their names.
  ///
  /// - Throws: ``JobError/Code/unreadablePeriodicJob`` if one of them cannot be read, ``DatabaseError``.
  ///   ``periodicJobs(onUnreadable:)`` returns the others.
  public func periodicJobs() throws -> [PeriodicJob] {
    try core.reader.sync { try $0.periodicJobs() }.map { PeriodicJob(try $0.get()) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func periodicJobs() async throws -> [PeriodicJob] {
    try await core.reader.run { try $0.periodicJobs().map { PeriodicJob(try $0.get()) } }
  }

  /// The periodic jobs that can be read, in the order of their names.
  ///
  /// - Parameter report: gets the error of each that cannot be read, such as one whose time zone this machine does not know:
  ///   ``JobError/Code/unreadablePeriodicJob``, with its ``JobError/periodicJobName``. On the thread of the caller.
  public func periodicJobs(onUnreadable report: (JobError) -> Void) throws -> [PeriodicJob] {
    Self.readable(try core.reader.sync { try $0.periodicJobs() }, onUnreadable: report)
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  ///
  /// `report` is called where the caller is.
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
