/// What a job's life depends on, as it is stored.
struct JobLife: Equatable, Sendable {
  var state: JobState
  var flags: JobFlags = []
  /// Whether nothing else runs in the process while it does, the next time.
  var isAlone = false
  /// How many attempts have counted, how often its process ended, and how often the lease of its process ran out.
  var attempts: Int64 = 0, crashes: Int64 = 0, lapses: Int64 = 0
  /// How many prerequisites it waits for.
  var blockers: Int64 = 0
  /// How often it was claimed, and by whom, if it executes.
  var claim: Int64 = 0
  var worker: Int64?
  var runAt: Int64?
  var startedAt: Int64?
  var finishedAt: Int64?
}
