/// Which jobs are meant.
struct JobFilter: Sendable {
  var kind: String?
  var states: Set<JobState>?
}

/// What becomes of the priority of jobs; nil for what stays.
struct PriorityChange: Sendable {
  var major: Int
  var minor: Int?
}
