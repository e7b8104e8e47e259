/// The stored values on which the transitions of a job depend.
struct JobLife: Equatable, Sendable {
  var state: JobState
  var flags: JobFlags = []
  /// Whether its next attempt runs without any other job in the process.
  var isAlone = false
  /// How many attempts have counted, how often its process ended, and how often its process's lease
  /// ran out.
  var attempts: Int64 = 0, crashes: Int64 = 0, lapses: Int64 = 0
  /// How many prerequisites it waits for.
  var blockers: Int64 = 0
  /// How often it was claimed, and by which process, if it executes.
  var claim: Int64 = 0
  var worker: Int64?
  var runAt: Int64?
  var startedAt: Int64?
  var finishedAt: Int64?
}
