import CompositeOperations
import Foundation

/// An attempt of a job that runs in this process. The core's lock guards its mutable fields.
final class Execution: @unchecked Sendable {  // the fields that change are touched under the lock alone
  /// Why the queue cancelled the operation.
  enum Interruption { case cancelRequest, timeout, stop, suspension, lostLease }

  let number: Int
  let job: ClaimedJob
  let kindName: String
  /// Nil if the kind was unregistered right after the job was claimed.
  let registration: Registration?
  var operation: Operation?
  /// Whether its operation was made, or is being made. An attempt that is interrupted before makes
  /// none.
  var hasBegun = false
  /// The slot in the user's queue in which it runs.
  var place: JobPlace?
  var timer: Timekeeper.Timer?
  /// The first interruption; later ones do not count.
  var interruption: Interruption?
  /// Whether the queue has reported that its operation does not end.
  var isToldOf = false
  /// Whether the queue has reported that it left the job to the lease.
  var isLeftToLease = false
  /// Whether its operation has ended. What became of it is being found out, also by code of the
  /// user.
  var isEnding = false
  /// Whether a suspension has returned its job, also if something else interrupted it before.
  var isGivenBack = false
  /// Whether it was acknowledged together with writes of the user.
  var isComplete = false
  /// Keeps the queue's core alive while this runs, so that its end is written.
  var core: QueueCore?

  init(number: Int, job: ClaimedJob, kindName: String, registration: Registration?) {
    self.number = number
    self.job = job
    self.kindName = kindName
    self.registration = registration
  }

  var attempt: Int { job.attempts + 1 }

  /// Notes why its operation is cancelled. Returns false if it was cancelled before, or has ended.
  func interrupt(_ reason: Interruption) -> Bool {
    guard interruption == nil, !isEnding else { return false }
    interruption = reason
    return true
  }

  /// Returns what to write and report for the attempt; nil if another process has the job by now.
  func acknowledgement(
    of outcome: Outcome<any Sendable>, interruptedBy interruption: Interruption?, now: Date, isOnline: Bool,
    delay: (Int) -> Duration
  ) -> Acknowledgement? {
    switch (outcome, interruption) {
    // Another process may have a job that a suspended queue has returned.
    case (_, .lostLease): return nil
    case (.success, _):
      var done = acknowledgement(.done, .done(job.id, kind: kindName))
      done.isGivenBack = interruption == .suspension
      return done
    case (_, .cancelRequest): return acknowledgement(.cancelled(nil), .cancelled(job.id, kind: kindName))
    case (_, .suspension): return nil
    case (_, .stop):
      return acknowledgement(.returned, .returned(job.id, kind: kindName))
    case (_, .timeout):
      let error = JobError(.timedOut(job.timeout ?? .zero), id: job.id, kind: kindName)
      return failed(error, now: now, isOnline: isOnline, delay: delay)
    case (.cancelled, _):
      let error = JobError(.operationCancelled, id: job.id, kind: kindName)
      return failed(error, now: now, isOnline: isOnline, delay: delay)
    case (.failure(let error), _): return failed(error, now: now, isOnline: isOnline, delay: delay)
    }
  }

  private func failed(
    _ error: any Error, now: Date, isOnline: Bool, delay: (Int) -> Duration
  ) -> Acknowledgement {
    let reason: any Error
    switch JobVerdict(on: error, of: job.id) {
    case .unreadable:
      return acknowledgement(.dead(Self.text(of: error)), .dead(job.id, kind: kindName, error: error))
    case .leftToNewerPrograms:
      let delay = Duration.seconds(60)
      return acknowledgement(
        .postponed(after: delay, error: Self.text(of: error)), failure(error, retriedAfter: delay, now: now))
    case .snoozed(let duration):
      return acknowledgement(
        .again(after: duration, isCharged: false, error: nil),
        .snoozed(job.id, kind: kindName, until: now.addingTimeInterval(duration / .seconds(1))))
    case .failed where job.requiresNetwork && !isOnline:
      // The network went away while the job ran, which is not the job's fault. It runs again when
      // the network is back.
      return again(after: .zero, isCharged: false, error, now: now)
    case .failed where job.maxAttempts.map({ attempt < $0 }) ?? true:
      return again(after: delay(attempt), isCharged: true, error, now: now)
    case .failed: reason = error
    case .permanent(let error): reason = error
    }
    if job.holdsAfterLastAttempt {
      return acknowledgement(.held(Self.text(of: reason)), .held(job.id, kind: kindName, error: reason))
    }
    return acknowledgement(.dead(Self.text(of: reason)), .dead(job.id, kind: kindName, error: reason))
  }

  private func again(after delay: Duration, isCharged: Bool, _ error: any Error, now: Date) -> Acknowledgement {
    acknowledgement(
      .again(after: delay, isCharged: isCharged, error: Self.text(of: error)),
      failure(error, retriedAfter: delay, now: now))
  }

  private func failure(_ error: any Error, retriedAfter delay: Duration, now: Date) -> JobEvent.Content {
    .failed(
      job.id, kind: kindName, attempt: attempt, error: error, nextAttempt: now.addingTimeInterval(delay / .seconds(1)))
  }

  private func acknowledgement(_ result: Acknowledgement.Result, _ event: JobEvent.Content) -> Acknowledgement {
    Acknowledgement(
      id: job.id, kind: kindName, claim: job.claim, attempt: attempt, result: result, event: event)
  }

  /// The text of an error as it is stored: its own description if it has one, cut to a limited
  /// length.
  private static func text(of error: any Error) -> String {
    let text = (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
    return text.count > 4000 ? "\(text.prefix(4000))…" : text
  }
}
