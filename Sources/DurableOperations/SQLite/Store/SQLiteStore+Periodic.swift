import Foundation

extension SQLiteStore {
  private static let columns = "name, kind, version, payload, options, schedule, catch_up, last_at, next_at"

  /// Stores a periodic job, or changes it. It keeps its next time if its schedule is unchanged.
  func schedule(_ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp)
    throws
  {
    let text = try PeriodicRow.storedForm(of: schedule)
    let next = schedule.next(after: Date(milliseconds: now)).map(\.milliseconds)
    let known = try connection.execute("SELECT schedule FROM durable_periodic WHERE name = ?", [.text(name)]).first
    if let known, known.values != [.text(text)] { try forgetOccurrences(of: name) }
    try connection.execute(
      """
      INSERT INTO durable_periodic (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, version = excluded.version, payload = excluded.payload,
        options = excluded.options, catch_up = excluded.catch_up,
        last_at = CASE WHEN schedule = excluded.schedule THEN last_at ELSE excluded.last_at END,
        next_at = CASE WHEN schedule = excluded.schedule THEN next_at ELSE excluded.next_at END,
        schedule = excluded.schedule
      """,
      [
        .text(name), .text(job.kind), SQLValue(job.version), .blob(try job.payload),
        .text(try PeriodicRow.storedOptions(of: job)),
        .text(text), .text(catchUp.rawValue), .integer(now), next.map { .integer($0) } ?? .null,
      ])
  }

  /// Returns false if there is none.
  func unschedule(_ name: String) throws -> Bool {
    try forgetOccurrences(of: name)
    try connection.execute("DELETE FROM durable_periodic WHERE name = ?", [.text(name)])
    return connection.changeCount == 1
  }

  /// Sorted by name; the error of each that cannot be read. Only reads.
  func periodicJobs() throws -> [Result<PeriodicRow, JobError>] {
    try periodicJobs(where: "1")
  }

  /// When the next periodic job is due, of all or of those that are due after a time; nil if there
  /// is none. Only reads.
  func nextOccurrence(after time: Int64? = nil) throws -> Int64? {
    let select = try statement("SELECT min(next_at) FROM durable_periodic WHERE next_at > ?1")
    select.bind(time ?? .min, at: 1)
    return try select.first { $0.optionalInteger(0) } ?? nil
  }

  /// Whether `enqueueOccurrences` has something to write. `unreadable`: why one of the due periodic
  /// jobs cannot be read. Only reads.
  func hasOccurrences() throws -> (isAnyReadable: Bool, unreadable: (any Error)?) {
    var (isAnyReadable, unreadable): (Bool, (any Error)?) = (false, nil)
    for result in try periodicJobs(where: "next_at <= \(now)") {
      switch result {
      case .success: isAnyReadable = true
      case .failure(let error): unreadable = error
      }
    }
    return (isAnyReadable, unreadable)
  }

  /// Enqueues due times, in one transaction with the note of them, so that no two processes do the
  /// same. `unreadable`: why one of the due periodic jobs cannot be read, such as an unknown time
  /// zone.
  func enqueueOccurrences() throws -> DueOccurrences {
    var occurrences = DueOccurrences()
    for result in try periodicJobs(where: "next_at <= \(now)") {
      guard case .success(let row) = result else {
        if case .failure(let error) = result { occurrences.unreadable = error }
        continue
      }
      let due = row.due(at: now)
      for time in due {
        guard try takesPlace(row.name, row.schedule, at: time.milliseconds) else { continue }
        let job = row.request(for: time)
        do {
          _ = try enqueue([job])
          occurrences.enqueued.append(job)
        } catch let error as JobError {
          // The previous job still has its key: this time is skipped.
          guard error.code == .duplicate else { throw error }
        }
      }
      let next = try reach(due.last?.milliseconds ?? now, row)
      if let next, next <= now { occurrences.isMoreDue = true }
    }
    return occurrences
  }

  /// Notes the last time of a periodic job. Returns the next one.
  @discardableResult
  private func reach(_ time: Int64, _ row: PeriodicRow) throws -> Int64? {
    let next = row.schedule.next(after: Date(milliseconds: time)).map(\.milliseconds)
    try connection.execute(
      "UPDATE durable_periodic SET last_at = ?, next_at = ? WHERE name = ?",
      [.integer(time), next.map { .integer($0) } ?? .null, .text(row.name)])
    return next
  }

  /// The periodic jobs whose time zones have other rules since their next time was stored. Only
  /// reads.
  func outdatedPeriodicJobs() throws -> [PeriodicRow] {
    try periodicJobs().compactMap { try? $0.get() }.filter(\.isOutdated)
  }

  /// Computes their next times anew, after their last ones.
  func updateNextOccurrences() throws {
    for row in try outdatedPeriodicJobs() { try reach(row.lastAt, row) }
  }

  /// Whether the clock was set back so far that periodic jobs would stay away for long. Only reads.
  func hasPeriodicJobsFarAhead() throws -> Bool {
    try !periodicJobsFarAhead().isEmpty
  }

  /// Makes periodic jobs go on from now though their last time is in the future.
  func bringBackPeriodicJobs() throws {
    for row in try periodicJobsFarAhead() { try reach(now, row) }
  }

  private func periodicJobsFarAhead() throws -> [PeriodicRow] {
    let now = now
    return try periodicJobs(where: "last_at > \(now + PeriodicRow.minute)").compactMap { try? $0.get() }.filter {
      $0.isFarAhead(of: now)
    }
  }

  private func periodicJobs(where condition: String) throws -> [Result<PeriodicRow, JobError>] {
    let select = try connection.prepare(
      "SELECT \(Self.columns) FROM durable_periodic WHERE \(condition) ORDER BY name", isKept: false)
    var rows: [Result<PeriodicRow, JobError>] = []
    try select.forEachRow { row in
      do {
        rows.append(.success(try Self.periodicRow(row)))
      } catch {
        rows.append(.failure(JobError(.unreadablePeriodicJob(name: row.text(0) ?? ""), cause: error)))
      }
    }
    return rows
  }

  private static func periodicRow(_ row: Statement) throws -> PeriodicRow {
    try PeriodicRow(
      name: row.text(0) ?? "", kind: row.text(1) ?? "", version: Int(clamping: row.integer(2)),
      payload: row.data(3) ?? Data(), options: row.text(4) ?? "", schedule: row.text(5) ?? "",
      catchUp: row.text(6) ?? "", lastAt: row.integer(7), nextAt: row.optionalInteger(8))
  }
}
