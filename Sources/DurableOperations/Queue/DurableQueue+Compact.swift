extension DurableQueue {
  /// Gives back to the system what deleted jobs have left free in the file, or in the tables of the server. A file does not
  /// become smaller without it: the room is used for further jobs.
  ///
  /// **On a server** it is `VACUUM`, which gives back what is free at the ends of the tables. Others go on meanwhile. The
  /// server does it by itself where autovacuum is on. Only the owner of the tables may.
  ///
  /// **In a file**, SQLite writes the file anew (`VACUUM`) and cuts off its log. That takes as long as copying what is left,
  /// and for this time as much room as that once in the folder of the file and once in that for temporary files. Until it is
  /// done, no process can store or claim anything: this one waits, others for their own ``Configuration/busyTimeout``. What
  /// runs goes on; the lease of this process is prolonged before for as long as a slow disk may take, a second for each
  /// megabyte. Call it after many jobs were deleted, when there is little to do; not regularly.
  ///
  /// All jobs stay, with their numbers. In tables of yours, in the same file, the `rowid` of rows may become another where no
  /// column is its `INTEGER PRIMARY KEY`.
  ///
  /// - Returns: how many bytes fewer the file and its log, or the tables, take; 0 for a queue in memory.
  /// - Throws: ``DatabaseError``: with the code ``DatabaseError/Code/busy`` if another connection has been in a transaction for
  ///   longer than ``Configuration/busyTimeout``, also in one that only reads; with ``DatabaseError/Code/diskFull`` if there is
  ///   too little room. Nothing is lost then.
  @discardableResult
  public func compact() throws -> Int {
    try core.database.sync { try core.compact(in: $0) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  @discardableResult
  public func compact() async throws -> Int {
    try await core.database.run { [core] in try core.compact(in: $0) }
  }
}

extension QueueCore {
  fileprivate func compact(in store: any StoreSession) throws -> Int {
    let worker = withLock { $0.state.worker }
    // The store has prolonged the lease, and shortened it again; if it could not, the next look around does it.
    defer { if worker != nil { withLock { $0.watch.leaseProlongedAt = nil } } }
    return try store.compact(worker: worker, lease: configuration.leaseDuration)
  }
}
