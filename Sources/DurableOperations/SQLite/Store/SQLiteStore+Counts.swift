// A table keeps the number of jobs of each kind and state, so that asking for it does not read the
// jobs. Each transaction writes its changes once, before it is committed: so the table is right for
// every reader, and a rollback is never counted.
extension SQLiteStore {
  /// Writes the changes of the counts.
  func writeCounts() throws {
    guard !deltas.isEmpty else { return }
    let add = try statement(
      """
      INSERT INTO durable_counts (kind, state, jobs) VALUES (?1, ?2, ?3)
      ON CONFLICT (kind, state) DO UPDATE SET jobs = jobs + excluded.jobs
      """)
    for (key, count) in deltas.take() {
      add.bind(key.kind, at: 1)
      add.bind(key.state, at: 2)
      add.bind(count, at: 3)
      try add.run()
    }
  }

  /// Makes a change that may bring a job into another state.
  func countingChange(of id: JobID, _ body: () throws -> Void) throws {
    let before = try laneAndState(of: id)
    try body()
    guard let before, let after = try laneAndState(of: id) else { return }
    deltas.move(ofKind: JobLane.kind(of: before.lane), from: before.state, to: after.state)
  }

  private func laneAndState(of id: JobID) throws -> (lane: Int64, state: Int64)? {
    let select = try statement("SELECT lane, state FROM durable_jobs WHERE id = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first { ($0.integer(0), $0.integer(1)) }
  }

  /// Counts the jobs anew, for changes by others than this store. Reads all of them.
  func recount() throws {
    deltas = CountDeltas()
    // The user may have removed the queue from the database.
    let tables = try connection.execute(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('durable_jobs', 'durable_counts')")
    guard tables.count == 2 else { return }
    try connection.execute(
      """
      DELETE FROM durable_counts;
      INSERT INTO durable_counts (kind, state, jobs) SELECT lane >> 2, state, count(*) FROM durable_jobs GROUP BY 1, 2;
      """)
  }

  /// Notes in which start of the machine the tables were migrated.
  func noteUpgrade(in boot: String) throws {
    try connection.execute("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('upgraded', ?)", [.text(boot)])
  }

  /// Counts anew as long as a program of an older version may use the file, which does not count:
  /// it opened the file before the migration, so it is gone after a further start of the machine.
  /// Reads the jobs only then.
  func recountAfterUpgrade(in boot: String) throws {
    let rows = try connection.execute("SELECT value FROM durable_meta WHERE key = 'upgraded'")
    guard let upgraded = rows.first?[0].textValue else { return }
    try transaction {
      try recount()
      if boot.isEmpty || upgraded == boot { return }
      // The start of the migration may be unknown.
      if upgraded.isEmpty { return try noteUpgrade(in: boot) }
      try connection.execute("DELETE FROM durable_meta WHERE key = 'upgraded'")
    }
  }

  /// Counts by kind, in the same time for any number of jobs. Only reads.
  func countsByKind() throws -> [Int64: [JobState: Int]] {
    var states: [Int64: [JobState: Int]] = [:]
    let counts = try kept("counts", Schema.counts(in: version))
    try counts.forEachRow { row in
      // A damaged row must not end the process, nor must the sum of several.
      let jobs = min(row.integer(2), 1 << 40)
      guard let state = row.state(1), jobs > 0 else { return }
      states[row.integer(0), default: [:]][state] = Int(jobs)
    }
    return states
  }
}
