/// What becomes of the times of a ``JobSchedule`` that passed while no process ran.
public enum JobCatchUp: String, Sendable, Codable, CaseIterable {
  /// One job, for the latest of them: what a report or a cleaning-up wants, which does not get better by being done often.
  case latest
  /// One job for each, oldest first: what work wants that covers a stretch of time each, such as a bill for each month.
  case all
}
