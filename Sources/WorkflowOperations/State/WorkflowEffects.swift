import CompositeOperations
import Foundation

/// How a workflow ended.
enum WorkflowSettlement: Sendable {
  case finished
  case failed(WorkflowFailureRecord)
  case cancelled
}

/// What a failed workflow failed with, by the places of its tasks.
struct WorkflowFailureRecord: Sendable {
  typealias Failure = (task: Int, error: any Error)
  typealias Blocked = (task: Int, cause: Int)

  private let parts: NestedErrors<(failures: [Failure], blocked: [Blocked])>

  init(failures: [Failure], blocked: [Blocked]) {
    parts = NestedErrors((failures, blocked))
  }

  /// The failed tasks, in task order.
  var failures: [Failure] { parts.contents.failures }
  /// The tasks that cannot run, in task order, each with the failed or cancelled task that keeps it
  /// from it.
  var blocked: [Blocked] { parts.contents.blocked }
}

/// What becomes of the operations of a run that has ended.
struct RunEnd: Sendable {
  let run: Int
  let settlement: WorkflowSettlement
}

/// What the thread that empties the outbox has to do, in order.
enum OutboxEntry: Sendable {
  case event(WorkflowEvent.Content, number: Int)
  /// The event of an attempt's start has been passed on; the attempt waits for that.
  case toldStart(StartNotice)
  /// Tasks can run: tell the operation of the run.
  case handIn([Int], run: Int)
  case end(RunEnd)
  /// Nothing was left of the run when this was put in. If that is still so, the run has ended: a
  /// hook that was called meanwhile may have retried the task that failed.
  case endIfIdle
}

/// What the caller of an input has to do when the lock is dropped, in the order of the fields.
struct WorkflowEffects: Sendable {
  enum SubworkflowVerb: Sendable {
    case cancel, reset
    /// A retry that starts nothing, with the task-local values of who retries.
    case rearm(in: ContextValues?)
  }

  enum Start: Sendable, Equatable {
    /// A run, for the tasks that are wanted.
    case wanted
    /// A run that starts every task that can run.
    case everything
  }

  /// What the other workflows inside of this one have to do, by their plans.
  var subworkflows: [(AnyTaskPlan, SubworkflowVerb)] = []
  /// The operations of attempts that no longer count.
  var cancelled: [Operation] = []
  /// Whether the caller has to empty the outbox.
  var delivers = false
  /// Tasks that can run in the run of this number.
  var ready: [Int] = []
  var run = 0
  /// The runs that have ended.
  var ends: [RunEnd] = []
  /// A run is needed.
  var start: Start?
  /// A task has finished: the operations of runs have made progress.
  var hasProgressed = false
  /// Results, errors and task-local values that were dropped. They are released outside the lock,
  /// because that may run code of the user's.
  var released: [any Sendable] = []
}
