import CompositeOperations

extension Backoff {
  /// The default maximum, a day: long enough to sit out most outages, and short enough for an
  /// operator who still watches.
  ///
  /// Stored forms leave it out, so it must never change.
  private static let maximumOfJobs = Duration.seconds(24 * 3600)

  /// The same backoff in the form in which a job keeps it: in whole milliseconds, and without the
  /// maximum and the jitter that a job has by default.
  ///
  /// Version 0.1.0 stored what it could express in this form, and reads an unknown text as no
  /// backoff. Programs of that version can therefore use the same file.
  var keptWithJobs: Backoff {
    let kept = with(maximum: maximum, jitter: jitter == .full ? .inherited : jitter) { .milliseconds($0.milliseconds) }
    guard kept.maximum == Self.maximumOfJobs else { return kept }
    return kept.with(maximum: nil, jitter: kept.jitter) { $0 }
  }

  /// The delay after a failed attempt of a job: at most a day and with full jitter, unless the
  /// backoff says otherwise.
  ///
  /// - Parameters:
  ///   - attempt: the number of that attempt, from 1; a lower one counts as 1.
  ///   - random: the source of the jitter. Not used if there is no jitter, or no delay.
  /// - Returns: a delay from zero to the maximum, in whole milliseconds.
  func jobDelay(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
    let backoff = keptWithJobs
    let maximum = backoff.maximum ?? Self.maximumOfJobs
    return backoff.jitter.spread(
      afterAttempt: attempt, maximum: maximum,
      delay: { .milliseconds(min(backoff.delay(afterAttempt: $0), maximum).milliseconds) },
      random: { .milliseconds(Int64.random(in: $0.milliseconds...$1.milliseconds, using: &random)) })
  }
}
