/// The questions of a queue about changes by other processes, and about what has become due.
struct StoreLook {
  /// The number by which other processes know this one; nil if they do not.
  var worker: Int64?
  /// The kinds that it runs.
  var kinds: [Int64]
  /// The questions about what becomes due next, if the store answers them at once.
  var ahead = StoreAhead.Question()
}

/// The answers to a look. The queue decides what follows from them.
struct StoreLookAnswer {
  /// The date by the store's clock.
  var now: Int64 = 0
  /// When the first scheduled job is due.
  var nextDue: Int64?
  /// Whether leases can be compared with ``now``: not while the clock was set and they have not
  /// been moved with it.
  var areLeasesComparable = true
  /// The other processes that run jobs; nil if they could not be read.
  var others: [WorkerRow]?
  /// Removed workers with jobs that no process would take over.
  var orphaning: [Int64] = []
  var arePeriodicJobsDue = false
  /// Requests of other processes; nil if nothing was written since the last look.
  var wishes: Wishes?
  /// How long this process has been able to see the others; nil if nothing comes between them.
  var connectedFor: Duration?
  /// Whether a job of one of the queue's kinds waits; nil if the queue must ask for that.
  var isAnythingDue: Bool?
  /// What becomes due next; nil if the queue must ask for that, because the store does not answer
  /// at once, or because something was written since.
  var ahead: StoreAhead?
  /// Why a part could not be read. The rest is valid.
  var failure: (any Error)?

  struct Wishes {
    var rules: KindRules
    var cancelRequests: [JobID]
    /// Whether there may be jobs to claim.
    var mayHaveWork = true
  }
}

/// What becomes due next, and when, in milliseconds of the store's clock.
struct StoreAhead {
  struct Question {
    /// Whether to answer when the first job ended that can be deleted.
    var wantsFirstFinish = false
    /// When a periodic job failed: those that were due then do not count. Nil if none has failed.
    var occurrencesAfter: Int64?
    /// The known kinds, to answer which others have due jobs; nil not to.
    var knownKinds: Set<Int64>?
  }

  var now: Int64 = 0
  /// When the first scheduled job is due.
  var nextDue: Int64?
  /// When the first periodic job is due that counts.
  var nextOccurrence: Int64?
  var firstFinish: Int64?
  /// Nil if it was not asked.
  var unknownKinds: [UnknownKind]?
}

/// Workers whose jobs must be taken over.
struct LostWorkers {
  var workers: [(row: WorkerRow, loss: WorkerLoss)]
  /// Removed workers that left jobs.
  var orphaning: [Int64]
  /// How many crashes, and lapses, make a job dead; nil for no limit.
  var maxCrashes: Int?
  var maxLapses: Int?
}
