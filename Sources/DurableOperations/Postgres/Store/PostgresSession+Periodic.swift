#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresSession {
  func schedule(_ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp) throws {
    let (options, text) = (try PeriodicRow.storedOptions(of: job), try PeriodicRow.storedForm(of: schedule))
    try transaction { work in
      // The key is only in the options here. A look could not store its jobs.
      try PostgresParameters.check(job.options.uniqueKey)
      let now = try work.now()
      let next = schedule.next(after: Date(milliseconds: now)).map(\.milliseconds)
      let known = try work.run(
        "periodic_schedule", "SELECT schedule FROM \(schema).periodic WHERE name = $1 FOR UPDATE"
      ) {
        try $0.bind(name)
      }.first { $0.text(0) ?? "" }
      if let known, known != text { try work.forgetOccurrences(of: name) }
      try work.run("schedule", Self.scheduling(schema)) {
        try $0.bind(name)
        try $0.bind(job.kind)
        $0.bind(job.version)
        $0.bind(try job.payload as Data?, as: .json)
        try $0.bind(options)
        try $0.bind(text)
        try $0.bind(catchUp.rawValue)
        $0.bind(now)
        $0.bind(next)
      }
    }
  }

  /// A periodic job keeps its next time if its schedule is unchanged.
  private static func scheduling(_ schema: SQL) -> SQL {
    """
    INSERT INTO \(schema).periodic AS old (name, kind, version, payload, options, schedule, catch_up, last_at, next_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, version = excluded.version, payload = excluded.payload,
      options = excluded.options, catch_up = excluded.catch_up,
      last_at = CASE WHEN old.schedule = excluded.schedule THEN old.last_at ELSE excluded.last_at END,
      next_at = CASE WHEN old.schedule = excluded.schedule THEN old.next_at ELSE excluded.next_at END,
      schedule = excluded.schedule
    """
  }

  func unschedule(_ name: String) throws -> Bool {
    try transaction { work in
      // First, as a look does: it may have locked this one, and be about to note a time.
      let gone = try work.run("unschedule", "DELETE FROM \(schema).periodic WHERE name = $1 RETURNING name") {
        try $0.bind(name)
      }
      try work.forgetOccurrences(of: name)
      return gone.count == 1
    }
  }

  func periodicJobs() throws -> [Result<PeriodicRow, JobError>] {
    try read("periodic_jobs", "\(PostgresWork.periodicRows(schema)) ORDER BY name COLLATE \"C\"").map(
      PostgresWork.periodicRow)
  }

  /// No process is responsible: each takes the periodic jobs that no other has locked.
  func enqueueOccurrences() throws -> DueOccurrences {
    // Kinds get their numbers in transactions of their own.
    for row in try periodicJobs() { if case .success(let row) = row { _ = try kindNumber(row.kind) } }
    return try transaction { work in
      try work.bringBackPeriodicJobs()
      return try work.enqueueOccurrences()
    }
  }

  func updateNextOccurrences() throws {
    guard try periodicJobs().contains(where: { (try? $0.get())?.isOutdated == true }) else { return }
    try transaction { try $0.updateNextOccurrences() }
  }
}

extension PostgresWork {
  /// The time of this transaction.
  func now() throws -> Int64 {
    try run("now", "SELECT coalesce($1::bigint, \(schema).now_ms())") { $0.bind(store.testTime) }
      .first { $0.integer(0) } ?? 0
  }

  fileprivate static func periodicRows(_ schema: SQL) -> SQL {
    "SELECT name, kind, version, payload, options, schedule, catch_up, last_at, next_at FROM \(schema).periodic"
  }

  fileprivate static func periodicRow(_ row: PostgresRow) -> Result<PeriodicRow, JobError> {
    do {
      return .success(
        try PeriodicRow(
          name: row.text(0) ?? "", kind: row.text(1) ?? "", version: Int(clamping: row.integer(2)),
          payload: row.data(3) ?? Data(), options: row.text(4) ?? "", schedule: row.text(5) ?? "",
          catchUp: row.text(6) ?? "", lastAt: row.integer(7), nextAt: row.optionalInteger(8)))
    } catch {
      return .failure(JobError(.unreadablePeriodicJob(name: row.text(0) ?? ""), cause: error))
    }
  }

  /// Makes periodic jobs go on from now though their last time is in the future: the server's clock
  /// was set back.
  fileprivate func bringBackPeriodicJobs() throws {
    let now = try now()
    let ahead = try run(
      "periodic_ahead", "\(Self.periodicRows(schema)) WHERE last_at > $1 ORDER BY name FOR UPDATE SKIP LOCKED"
    ) { $0.bind(now + PeriodicRow.minute) }
    for case .success(let row) in ahead.map(Self.periodicRow) where row.isFarAhead(of: now) {
      try reach(Date(milliseconds: now), row)
    }
  }

  /// Computes the next times anew, after the last ones, that other rules of time zones have moved.
  fileprivate func updateNextOccurrences() throws {
    let rows = try run("periodic_update", "\(Self.periodicRows(schema)) ORDER BY name FOR UPDATE SKIP LOCKED")
    for case .success(let row) in rows.map(Self.periodicRow) where row.isOutdated {
      try reach(Date(milliseconds: row.lastAt), row)
    }
  }

  /// Notes the last time of a periodic job. Returns the next one.
  @discardableResult
  private func reach(_ time: Date, _ row: PeriodicRow) throws -> Int64? {
    let next = row.schedule.next(after: time).map(\.milliseconds)
    try run("reach", "UPDATE \(schema).periodic SET last_at = $2, next_at = $3 WHERE name = $1") {
      try $0.bind(row.name)
      $0.bind(time.milliseconds)
      $0.bind(next)
    }
    return next
  }

  /// How many times are enqueued in one transaction: rounds wait meanwhile.
  private static let mostTimesAtOnce = 100

  fileprivate func enqueueOccurrences() throws -> DueOccurrences {
    var occurrences = DueOccurrences()
    var (hasWaited, room) = (false, Self.mostTimesAtOnce)
    let now = try now()
    let due = try run(
      "due_periodic", "\(Self.periodicRows(schema)) WHERE next_at <= $1 ORDER BY name FOR UPDATE SKIP LOCKED"
    ) { $0.bind(now) }
    for result in due.map(Self.periodicRow) {
      let row: PeriodicRow
      switch result {
      case .success(let readable): row = readable
      case .failure(let error):
        occurrences.unreadable = error
        continue
      }
      // Another process has just given the name to another kind, whose number is not known here:
      // the next look asks for it.
      guard store.state.withLock({ $0.kindNumbers[KindName(row.kind)] }) != nil else { continue }
      // Others may have more keys locked: rounds wait meanwhile. The next look tries again.
      if hasWaited, row.options.uniqueKey != nil { continue }
      guard room > 0 else {
        occurrences.isMoreDue = true
        break
      }
      let times = row.due(at: now).prefix(room)
      do {
        for time in times {
          if let job = try enqueue(row, at: time) { occurrences.enqueued.append(job) }
        }
        let next = try reach(times.last ?? Date(milliseconds: now), row)
        if let next, next <= now { occurrences.isMoreDue = true }
        room -= times.count
      } catch let error as PostgresError
        where leavesSavepoint(error) && connection.transactionState == .inTransaction
      {
        if error.code == .busy {
          // A suspension interrupts it, too.
          try store.refuseWhileSuspended()
          hasWaited = true
        }
        occurrences.unreadable = DatabaseError(error, place: store.place)
      }
    }
    return occurrences
  }

  /// Whether the transaction can go on from a savepoint after an error.
  private func leavesSavepoint(_ error: PostgresError) -> Bool {
    !connection.isBroken && !error.endsConnection && error.code != .conflict
  }

  /// Enqueues the job of a time, unless that took place before or its key is taken. If it cannot be
  /// stored, or another transaction has the key locked for too long, it throws, and nothing of this
  /// time is written.
  private func enqueue(_ row: PeriodicRow, at time: Date) throws -> JobRequest? {
    let (job, eventCount) = (row.request(for: time), self.eventCount)
    var enqueued: JobRequest?
    try run("savepoint", "SAVEPOINT composite_operations")
    do {
      if try takesPlace(row.name, row.schedule, at: time.milliseconds) {
        _ = try enqueue([job])
        enqueued = job
      }
    } catch let error as JobError {
      // The previous job still has its key: this time is skipped.
      guard error.code == .duplicate else { throw error }
      try run("rollback_to", "ROLLBACK TO SAVEPOINT composite_operations")
      _ = try takesPlace(row.name, row.schedule, at: time.milliseconds)
    } catch let error as PostgresError where leavesSavepoint(error) {
      forgetEvents(after: eventCount)
      try run("rollback_to", "ROLLBACK TO SAVEPOINT composite_operations")
      throw error
    }
    try run("release", "RELEASE SAVEPOINT composite_operations")
    return enqueued
  }

  // MARK: - What took place

  /// Notes that a time takes place. Returns false if it has before. See
  /// `SQLiteStore.takesPlace(_:_:at:)`.
  private func takesPlace(_ name: String, _ schedule: JobSchedule, at time: Int64) throws -> Bool {
    func run(_ statement: String, _ sql: SQL) throws -> OccurrenceRun? {
      try self.run(statement, sql) {
        try $0.bind(name)
        $0.bind(time)
      }.first { OccurrenceRun(first: $0.integer(0), last: $0.integer(1)) }
    }
    let before = try run(
      "run_before",
      "SELECT first, last FROM \(schema).occurrences WHERE name = $1 AND first <= $2 ORDER BY first DESC LIMIT 1")
    let after = try run(
      "run_after",
      "SELECT first, last FROM \(schema).occurrences WHERE name = $1 AND first > $2 ORDER BY first LIMIT 1")
    guard let (grown, joined) = OccurrenceRun.adding(time, between: before, and: after, schedule) else { return false }
    for run in joined {
      try self.run("forget_run", "DELETE FROM \(schema).occurrences WHERE name = $1 AND first = $2") {
        try $0.bind(name)
        $0.bind(run.first)
      }
    }
    try self.run("note_run", "INSERT INTO \(schema).occurrences (name, first, last) VALUES ($1, $2, $3)") {
      try $0.bind(name)
      $0.bind(grown.first)
      $0.bind(grown.last)
    }
    if grown.first == grown.last {
      try self.run(
        "forget_old_runs",
        """
        DELETE FROM \(schema).occurrences WHERE number IN (
          SELECT number FROM \(schema).occurrences WHERE name = $1 ORDER BY number DESC OFFSET \(OccurrenceRun.remembered))
        """
      ) { try $0.bind(name) }
    }
    return true
  }

  fileprivate func forgetOccurrences(of name: String) throws {
    try run("forget_occurrences", "DELETE FROM \(schema).occurrences WHERE name = $1") { try $0.bind(name) }
  }
}
#endif
