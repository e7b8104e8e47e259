public import CompositeOperations

/// The backoff of jobs is that of retry policies.
@available(*, unavailable, renamed: "Backoff")
public typealias JobBackoff = Backoff

extension Backoff {
  /// A day: long enough to sit out most failures of others, and short enough that someone still looks.
  ///
  /// Stored forms leave it out, so it never changes: what is stored stays as it is.
  private static let maximumOfJobs = Duration.seconds(24 * 3600)

  /// The same backoff for a job, in the form in which it is kept: what 0.1.0 could say is stored as that stored it, in whole
  /// milliseconds, and without the maximum and the jitter that a job has anyway. So it is read by programs of that version that
  /// use the same file; those take a text that they do not know for none.
  var keptWithJobs: Backoff {
    let kept = with(maximum: maximum, jitter: jitter == .full ? .inherited : jitter) { .milliseconds($0.milliseconds) }
    guard kept.maximum == Self.maximumOfJobs else { return kept }
    return kept.with(maximum: nil, jitter: kept.jitter) { $0 }
  }

  /// The delay after an attempt of a job that failed: at most a day and with full jitter, unless the backoff says otherwise.
  ///
  /// - Parameters:
  ///   - attempt: the number of that attempt, from 1; a lower one counts as 1.
  ///   - random: where the jitter's random number comes from. Not asked if there is no jitter, or no delay.
  /// - Returns: a delay of zero or more, and at most the maximum, in whole milliseconds.
  func jobDelay(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
    let backoff = keptWithJobs
    let maximum = backoff.maximum ?? Self.maximumOfJobs
    return backoff.jitter.spread(
      afterAttempt: attempt, maximum: maximum,
      delay: { .milliseconds(min(backoff.delay(afterAttempt: $0), maximum).milliseconds) },
      random: { .milliseconds(Int64.random(in: $0.milliseconds...$1.milliseconds, using: &random)) })
  }
}
