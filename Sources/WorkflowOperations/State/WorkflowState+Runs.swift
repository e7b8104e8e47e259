import CompositeOperations
import Foundation

// Runs: how they begin and end.

extension WorkflowState {
  enum RunStart: Equatable, Sendable {
    /// A new run of this number has begun.
    case begins(Int)
    /// There is a run of this number already.
    case joins(Int)
  }

  /// An operation for a run has started.
  mutating func begin(startsEverything: Bool, at date: @autoclosure () -> Date = Date()) -> RunStart {
    if let run {
      if startsEverything { startEverything() }
      return .joins(run.number)
    }
    lastRun += 1
    run = Run(number: lastRun, startsEverything: startsEverything)
    settlement = nil
    wasResetSinceRun = false
    startDate = date()
    finishDate = nil
    tell(.workflowStarted)
    if startsEverything { wantEverything() }
    return .begins(lastRun)
  }

  /// The operation of a run was cancelled. Whatever is not finished is cancelled; the attempts are waited for.
  mutating func runWasCancelled(_ number: Int, at date: @autoclosure () -> Date = Date()) {
    guard run?.number == number else { return }
    _ = cancelEverything()
    run = nil
    drain(number, left: attempts.count { $0?.run == number }, at: date())
  }

  /// So many attempts are left of a run that was cancelled.
  mutating func drain(_ number: Int, left: Int, at date: Date) {
    guard left == 0 else {
      draining[number] = left
      return
    }
    draining[number] = nil
    effects.ends.append(RunEnd(run: number, settlement: .cancelled))
    // A run that has begun since speaks for the workflow.
    guard run == nil, draining.isEmpty else { return }
    settlement = .cancelled
    finishDate = date
    tell(.workflowEnded(.cancelled))
  }

  /// Nothing executes, waits or is wanted any more.
  mutating func endRun(at date: Date) {
    guard let run else { return }
    let canGoOn = counts[.ready] > 0
    let settlement: WorkflowSettlement =
      if counts[.finished] == nodes.count {
        .finished
      } else if counts[.failed] > 0, !(run.wasCancelled && counts[.cancelled] > 0) {
        .failed(failureRecord())
      } else {
        .cancelled
      }
    self.run = nil
    finishDate = date
    // Whether or not something failed or was cancelled, there are tasks that could run if they were started.
    self.settlement = canGoOn ? nil : settlement
    tell(.workflowEnded(self.settlement))
    effects.ends.append(RunEnd(run: run.number, settlement: settlement))
  }

  /// The failures, and for each task that cannot run the first task, in task order, that keeps it from running.
  func failureRecord() -> WorkflowFailureRecord {
    var failures: [WorkflowFailureRecord.Failure] = []
    var blocked: [WorkflowFailureRecord.Blocked] = []
    var causes = [Int?](repeating: nil, count: nodes.count)
    for (task, node) in nodes.enumerated() {
      switch node.state {
      case .failed:
        causes[task] = task
        if let error = node.error { failures.append((task, error)) }
      case .cancelled:
        causes[task] = task
      case .pending:
        guard let cause = node.plan.prerequisites.lazy.compactMap({ causes[$0] }).min() else { continue }
        causes[task] = cause
        blocked.append((task, cause))
      case .ready, .executing, .finished:
        break
      }
    }
    return WorkflowFailureRecord(failures: failures, blocked: blocked)
  }
}
