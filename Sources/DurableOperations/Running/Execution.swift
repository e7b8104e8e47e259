import CompositeOperations
import Foundation

/// An attempt of a job that runs in this process. What changes is guarded by the core's lock.
final class Execution: @unchecked Sendable {  // the fields that change are touched under the lock alone
  /// Why its operation was cancelled by the queue.
  enum Interruption { case cancelRequest, timeout, stop, lostLease }

  let number: Int
  let job: ClaimedJob
  let kindName: String
  var operation: Operation?
  var timer: Timekeeper.Timer?
  /// The first of them counts.
  var interruption: Interruption?
  /// Whether it was acknowledged together with writes of the user's.
  var isComplete = false
  /// Keeps the queue's core, as long as this runs: there has to be somebody who writes what becomes of it.
  var core: QueueCore?

  init(number: Int, job: ClaimedJob, kindName: String) {
    self.number = number
    self.job = job
    self.kindName = kindName
  }

  var attempt: Int { job.attempts + 1 }

  /// What is written of the attempt, and told. Nil if there is nothing to write: the job is somebody else's by now.
  func acknowledgement(
    of outcome: Outcome<any Sendable>, interruptedBy interruption: Interruption?, now: Date,
    delay: (Int) -> Duration
  ) -> Acknowledgement? {
    switch (outcome, interruption) {
    case (_, .lostLease): return nil
    case (.success, _): return acknowledgement(.done, .done(job.id, kind: kindName))
    case (_, .cancelRequest): return acknowledgement(.cancelled(nil), .cancelled(job.id, kind: kindName))
    case (_, .stop):
      return acknowledgement(.returned, .returned(job.id, kind: kindName))
    case (_, .timeout):
      return failed(JobError(.timedOut(job.timeout ?? .zero), id: job.id, kind: kindName), now: now, delay: delay)
    case (.cancelled, _):
      return failed(JobError(.operationCancelled, id: job.id, kind: kindName), now: now, delay: delay)
    case (.failure(let snooze as JobSnooze), _):
      let time = now.addingTimeInterval(max(snooze.duration, .zero) / .seconds(1))
      return acknowledgement(
        .again(runAt: time.milliseconds, isCharged: false, error: nil),
        .snoozed(job.id, kind: kindName, until: time))
    case (.failure(let error), _): return failed(error, now: now, delay: delay)
    }
  }

  private func failed(_ error: any Error, now: Date, delay: (Int) -> Duration) -> Acknowledgement {
    let permanent = (error as? PermanentJobFailure)?.underlying
    let isUnreadable = (error as? JobError).map { $0.id == job.id && $0.isAboutStoredForm } ?? false
    if isUnreadable { return acknowledgement(.dead(Self.text(of: error)), .dead(job.id, kind: kindName, error: error)) }
    if permanent == nil, job.maxAttempts.map({ attempt < $0 }) ?? true {
      let time = now.addingTimeInterval(delay(attempt) / .seconds(1))
      return acknowledgement(
        .again(runAt: time.milliseconds, isCharged: true, error: Self.text(of: error)),
        .failed(job.id, kind: kindName, attempt: attempt, error: error, nextAttempt: time))
    }
    let reason = permanent ?? error
    if job.holdsAfterLastAttempt {
      return acknowledgement(.held(Self.text(of: reason)), .held(job.id, kind: kindName, error: reason))
    }
    return acknowledgement(.dead(Self.text(of: reason)), .dead(job.id, kind: kindName, error: reason))
  }

  private func acknowledgement(_ result: Acknowledgement.Result, _ event: JobEvent) -> Acknowledgement {
    Acknowledgement(id: job.id, kind: kindName, claim: job.claim, result: result, event: event)
  }

  /// An error as it is stored: its own sentence if it has one, and not without end.
  private static func text(of error: any Error) -> String {
    let text = (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
    return text.count > 4000 ? "\(text.prefix(4000))…" : text
  }
}

extension JobError {
  /// Another attempt of the same program would end in the same way.
  fileprivate var isAboutStoredForm: Bool {
    switch code {
    case .undecodable, .newerVersion: true
    default: false
    }
  }
}
