/// What a queue wants to know of what other processes did, and of what has become due.
struct StoreLook {
  /// What other processes know this one by; nil if they do not.
  var worker: Int64?
  /// The kinds that it runs.
  var kinds: [Int64]
  /// What to tell of what becomes due next, if the store tells it at once.
  var ahead = StoreAhead.Question()
}

/// What there is to see. What follows from it is the queue's to decide.
struct StoreLookAnswer {
  /// The date by the store's clock.
  var now: Int64 = 0
  /// When the first scheduled job is due.
  var nextDue: Int64?
  /// Whether leases can be compared with ``now``: not as long as they were not moved with a clock that was set.
  var areLeasesComparable = true
  /// The other processes that run jobs; nil if they could not be read.
  var others: [WorkerRow]?
  /// Workers that are no more, with jobs that nobody would take over.
  var orphaning: [Int64] = []
  var arePeriodicJobsDue = false
  /// What others have asked for; nil if nothing was written since the last look.
  var wishes: Wishes?
  /// For how long this process could see what the others do; nil if nothing comes between them.
  var connectedFor: Duration?
  /// Whether a job of one of the queue's kinds waits; nil if that is to be asked for.
  var isAnythingDue: Bool?
  /// What becomes due next; nil if that is to be asked for, because the store does not tell it at once, or because something was
  /// written since.
  var ahead: StoreAhead?
  /// Why something could not be seen. The rest is as it should be.
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
    /// Whether to tell when the first job ended that can be deleted.
    var wantsFirstFinish = false
    /// Whether to tell which kinds have jobs due and are not among these; nil for no.
    var knownKinds: Set<Int64>?
  }

  var now: Int64 = 0
  /// When the first scheduled job is due.
  var nextDue: Int64?
  /// When the first periodic job is due.
  var nextOccurrence: Int64?
  var firstFinish: Int64?
  /// Nil if nobody asked.
  var unknownKinds: [UnknownKind]?
}

/// Workers whose jobs are to be taken over.
struct LostWorkers {
  var workers: [(row: WorkerRow, loss: WorkerLoss)]
  /// Workers that are no more, of which jobs were left.
  var orphaning: [Int64]
  /// After how many crashes, and lapses, a job is dead; nil for never.
  var maxCrashes: Int?
  var maxLapses: Int?
}
