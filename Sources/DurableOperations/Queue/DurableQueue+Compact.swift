extension DurableQueue {
  /// Returns the space that deleted jobs left free in the file, or in the tables of the server, to
  /// the system. A file does not shrink without this call: the queue uses the space for further
  /// jobs.
  ///
  /// **On a server** this is `VACUUM`, which returns the free space at the ends of the tables.
  /// Other clients go on meanwhile. The server does the same by itself where autovacuum is on. Only
  /// the owner of the tables may call it.
  ///
  /// **In a file**, SQLite writes the file anew (`VACUUM`) and truncates its log. That takes as
  /// long as copying the remaining data, and for this time as much space as that data once in the
  /// folder of the file and once in the folder for temporary files. Until it is done, no process
  /// can store or claim anything: this one waits, others wait for their own
  /// ``Configuration/busyTimeout``. Running jobs go on; the queue first extends the lease of this
  /// process by as long as a slow disk may take, a second for each megabyte. Call it after you have
  /// deleted many jobs and there is little to do, not regularly.
  ///
  /// All jobs stay, with their numbers. In your own tables in the same file, the `rowid` of a row
  /// may change unless a column is its `INTEGER PRIMARY KEY`.
  ///
  /// - Returns: by how many bytes the file and its log, or the tables, shrank; 0 for a queue in
  ///   memory.
  /// - Throws: ``DatabaseError``: with the code ``DatabaseError/Code/busy`` if another connection
  ///   has been in a transaction, even one that only reads, for longer than
  ///   ``Configuration/busyTimeout``; with ``DatabaseError/Code/diskFull`` if there is too little
  ///   space. Nothing is lost then.
  @discardableResult
  public func compact() throws -> Int {
    try core.database.sync { try core.compact(in: $0) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  @discardableResult
  public func compact() async throws -> Int {
    try await core.database.run { [core] in try core.compact(in: $0) }
  }
}

extension QueueCore {
  fileprivate func compact(in store: any StoreSession) throws -> Int {
    let worker = withLock { $0.state.worker }
    // The store has extended the lease and shortened it again; if it could not, the next look does.
    defer { if worker != nil { withLock { $0.watch.leaseProlongedAt = nil } } }
    return try store.compact(worker: worker, lease: configuration.leaseDuration)
  }
}
