/// What the store notes about a job besides its state.
struct JobFlags: OptionSet, Sendable {
  let rawValue: Int64

  /// Other jobs may wait for it.
  static let hasDependents = JobFlags(rawValue: 1)
  /// It executes, and will be cancelled unless it succeeds.
  static let isCancelRequested = JobFlags(rawValue: 2)
  static let holdsAfterLastAttempt = JobFlags(rawValue: 4)
  /// `run_at` was given as a delay, so setting the clock moves it.
  static let runsAfterDelay = JobFlags(rawValue: 8)
  static let hasCheckpoint = JobFlags(rawValue: 16)
  /// Another job was enqueued in its place while it executed: it is cancelled if it fails.
  static let isReplaced = JobFlags(rawValue: 32)
  /// `durable_errors` has rows of it.
  static let hasErrors = JobFlags(rawValue: 64)
  /// Its process was told to stop and gave up waiting for it: the end of the process says nothing
  /// about this attempt.
  static let isAbandoned = JobFlags(rawValue: 128)
}
