/// The tables. Their names begin with `durable_`, so that tables of the user can be in the same
/// file.
///
/// States are those of `JobState`, `flags` those of `JobFlags`, `failing` is that of
/// `PrerequisiteFailure`, and lanes are those of `JobLane`. Times are milliseconds since 1970.
enum Schema {
  /// The steps from an empty file to the current tables. A released step never changes: changes are
  /// added as a further step. So numbers stand here for states and lanes, independent of their
  /// names.
  ///
  /// A queue that only reads a file has not migrated it: statements that only read must work with
  /// the tables of each version, or `SQLiteStore` has to refuse versions that it cannot read.
  static let migrations = [
    """
    INSERT INTO durable_meta (key, value) VALUES ('identity', lower(hex(randomblob(8))));
    CREATE TABLE durable_kinds (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL UNIQUE,
      paused INTEGER NOT NULL DEFAULT 0,
      known_at INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE durable_jobs (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      lane INTEGER NOT NULL,
      state INTEGER NOT NULL,
      major INTEGER NOT NULL,
      minor INTEGER NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      crashes INTEGER NOT NULL DEFAULT 0,
      claim INTEGER NOT NULL DEFAULT 0,
      revision INTEGER NOT NULL DEFAULT 0,
      worker INTEGER,
      flags INTEGER NOT NULL,
      blockers INTEGER NOT NULL,
      max_attempts INTEGER,
      timeout INTEGER,
      run_at INTEGER,
      occurrence INTEGER,
      enqueued_at INTEGER NOT NULL,
      started_at INTEGER,
      finished_at INTEGER,
      version INTEGER NOT NULL,
      backoff TEXT,
      unique_key TEXT,
      error TEXT,
      payload BLOB NOT NULL
    );
    CREATE INDEX durable_paused ON durable_kinds (id) WHERE paused = 1;
    CREATE INDEX durable_ready ON durable_jobs (lane, major DESC, minor DESC, attempts) WHERE state = 0;
    CREATE INDEX durable_alone ON durable_jobs (lane) WHERE state = 0 AND lane & 2;
    CREATE INDEX durable_scheduled ON durable_jobs (run_at) WHERE state = 1;
    CREATE INDEX durable_executing ON durable_jobs (worker) WHERE state = 3;
    CREATE INDEX durable_finished ON durable_jobs (finished_at) WHERE state IN (5, 7);
    CREATE INDEX durable_unique ON durable_jobs (unique_key, lane >> 2, state) WHERE unique_key IS NOT NULL;
    CREATE TABLE durable_dependencies (
      prerequisite INTEGER NOT NULL,
      dependent INTEGER NOT NULL,
      failing INTEGER NOT NULL,
      PRIMARY KEY (prerequisite, dependent)
    ) WITHOUT ROWID;
    CREATE INDEX durable_prerequisites ON durable_dependencies (dependent);
    CREATE TABLE durable_checkpoints (
      job INTEGER PRIMARY KEY,
      data BLOB NOT NULL
    );
    CREATE TABLE durable_workers (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      boot TEXT NOT NULL,
      namespace TEXT,
      host TEXT NOT NULL,
      process INTEGER NOT NULL,
      started INTEGER NOT NULL,
      lease INTEGER NOT NULL,
      lease_until INTEGER NOT NULL
    );
    CREATE TABLE durable_periodic (
      name TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      version INTEGER NOT NULL,
      payload BLOB NOT NULL,
      options TEXT NOT NULL,
      schedule TEXT NOT NULL,
      catch_up TEXT NOT NULL,
      last_at INTEGER NOT NULL,
      next_at INTEGER
    ) WITHOUT ROWID;
    """,
    // The times of periodic jobs that took place, for clocks that are set back and forth; the
    // errors of attempts; the limits of kinds; how often the lease of an unreachable process ran
    // out while it had a job.
    """
    ALTER TABLE durable_jobs ADD COLUMN lapses INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE durable_kinds ADD COLUMN max_concurrent INTEGER;
    CREATE INDEX durable_limited ON durable_kinds (id) WHERE max_concurrent IS NOT NULL;
    CREATE TABLE durable_counts (
      kind INTEGER NOT NULL,
      state INTEGER NOT NULL,
      jobs INTEGER NOT NULL,
      PRIMARY KEY (kind, state)
    ) WITHOUT ROWID;
    INSERT INTO durable_counts (kind, state, jobs) SELECT lane >> 2, state, count(*) FROM durable_jobs GROUP BY 1, 2;
    CREATE TABLE durable_errors (
      number INTEGER PRIMARY KEY,
      job INTEGER NOT NULL,
      at INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      error TEXT NOT NULL
    );
    CREATE INDEX durable_errors_of_job ON durable_errors (job);
    CREATE TABLE durable_occurrences (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL,
      first INTEGER NOT NULL,
      last INTEGER NOT NULL,
      UNIQUE (name, first)
    );
    """,
  ]

  /// Selects kinds, states and the numbers of jobs in the tables of a version.
  static func counts(in version: Int) -> SQL {
    version < 2
      ? "SELECT lane >> 2, state, count(*) FROM durable_jobs GROUP BY 1, 2"
      : "SELECT kind, state, jobs FROM durable_counts"
  }

  /// Selects the stored rules of kinds in the tables of a version.
  static func kinds(in version: Int) -> SQL {
    "SELECT id, name, paused, \(version < 2 ? "NULL" : "max_concurrent") FROM durable_kinds"
  }

  /// Columns of a record, in the order in which `SQLiteStore.record` reads them, in the tables of a
  /// version.
  static func recordColumns(in version: Int) -> SQL {
    version < 2 ? "\(recordColumns), 0" : "\(recordColumns), lapses"
  }

  private static let recordColumns: SQL = """
    id, lane, state, major, minor, attempts, max_attempts, crashes, error, enqueued_at, run_at, started_at, \
    finished_at, timeout, unique_key, blockers, flags, version, payload, \
    CASE WHEN blockers > 0 THEN (SELECT group_concat(prerequisite) FROM durable_dependencies \
    WHERE dependent = durable_jobs.id) END, \
    CASE WHEN flags & \(flags: .hasCheckpoint) THEN (SELECT length(data) FROM durable_checkpoints WHERE job = durable_jobs.id) END
    """
}
