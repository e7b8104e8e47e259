import CompositeOperations
import Foundation

// How runs begin and end.

extension WorkflowState {
  enum RunStart: Equatable, Sendable {
    /// A new run of this number has begun.
    case begins(Int)
    /// A run of this number is under way.
    case joins(Int)
  }

  /// Begins a run for an operation that has started, or lets the operation join one.
  ///
  /// - Parameter context: the task-local values of the operation.
  mutating func begin(startsEverything: Bool, in context: ContextValues? = nil) -> RunStart {
    if let run {
      if startsEverything { startEverything() }
      return .joins(run.number)
    }
    lastRun += 1
    run = Run(number: lastRun, startsEverything: startsEverything)
    if let runContext { effects.released.append(runContext) }
    runContext = context
    settlement = nil
    startDate = Date()
    finishDate = nil
    tell(WorkflowEvent.Content(kind: .workflowStarted))
    if startsEverything { wantEverything() }
    return .begins(lastRun)
  }

  /// Cancels every task that has not finished, because the operation of the run was cancelled. The
  /// run waits for its attempts.
  mutating func runWasCancelled(_ number: Int) {
    guard run?.number == number else { return }
    _ = cancelEverything()
    run = nil
    forgetRetryContexts()
    drain(number, left: attempts.count { $0?.run == number })
  }

  /// Ends a run that was cancelled, if no attempts of it are left.
  mutating func drain(_ number: Int, left: Int) {
    guard left == 0 else {
      draining[number] = left
      return
    }
    draining[number] = nil
    effects.ends.append(RunEnd(run: number, settlement: .cancelled))
    // A run that has begun since decides the outcome of the workflow.
    guard run == nil, draining.isEmpty else { return }
    finishDate = Date()
    // Tasks that were reset or added meanwhile could run if they were started.
    settlement = counts[.ready] > 0 ? nil : .cancelled
    tell(.runEnded(settlement))
  }

  /// Ends the run: no task executes, waits or is wanted.
  mutating func endRun() {
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
    forgetRetryContexts()
    finishDate = Date()
    // Whether or not something failed or was cancelled, there are tasks that could run if they were
    // started.
    self.settlement = canGoOn ? nil : settlement
    tell(.runEnded(canGoOn ? nil : settlement))
    effects.ends.append(RunEnd(run: run.number, settlement: settlement))
  }

  /// The failures, and for each task that cannot run the first task, in task order, that keeps it
  /// from running.
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
