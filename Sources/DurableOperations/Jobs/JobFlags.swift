/// What is noted of a job besides its state, as it is stored.
struct JobFlags: OptionSet, Sendable {
  let rawValue: Int64

  /// Others may wait for it.
  static let hasDependents = JobFlags(rawValue: 1)
  /// It executes, and is cancelled unless it succeeds.
  static let isCancelRequested = JobFlags(rawValue: 2)
  static let holdsAfterLastAttempt = JobFlags(rawValue: 4)
  /// `run_at` was given as a delay, so a clock that is set anew moves it.
  static let runsAfterDelay = JobFlags(rawValue: 8)
  static let hasCheckpoint = JobFlags(rawValue: 16)
  /// Another job was enqueued in its place while it executed: it is cancelled if it fails.
  static let isReplaced = JobFlags(rawValue: 32)
  /// There are rows of it in `durable_errors`.
  static let hasErrors = JobFlags(rawValue: 64)
  /// Its process was told to stop, and no longer waited for it: the end of the process says nothing of this attempt.
  static let isAbandoned = JobFlags(rawValue: 128)
}
