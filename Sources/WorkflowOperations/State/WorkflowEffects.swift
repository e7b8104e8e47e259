import CompositeOperations
import Foundation

/// Something that observers are told.
enum WorkflowNotice: Sendable {
  case workflowStarted
  /// The run has ended; nil if there are tasks left that can run and were not started.
  case workflowEnded(WorkflowSettlement?)
  /// All of it was reset; what became of each task comes next.
  case workflowReset
  /// All of it was retried; what became of each task comes next.
  case workflowRetried
  case started(Int, attempt: Int)
  case finished(Int, attempt: Int, value: any Sendable)
  case failed(Int, attempt: Int, error: any Error)
  case cancelled(Int, attempt: Int)
  case reset(Int, attempt: Int)
  case retried(Int, attempt: Int)
  /// An attempt ended that does not count any more.
  case discarded(Int, attempt: Int, outcome: Outcome<any Sendable>)

  /// Whether the workflow has settled.
  var settles: Bool {
    if case .workflowEnded(.some) = self { true } else { false }
  }
}

/// How a workflow ended.
enum WorkflowSettlement: Sendable {
  case finished
  case failed(WorkflowFailureRecord)
  case cancelled
}

/// What becomes of the operations of a run that has ended.
struct RunEnd: Sendable {
  let run: Int
  let settlement: WorkflowSettlement
}

/// What has to be done, in order, by whoever delivers.
enum OutboxEntry: Sendable {
  case notice(WorkflowNotice)
  /// The start of an attempt has been told, which waits for that.
  case toldStart(StartNotice)
  /// Tasks can run: tell the operation of the run.
  case handIn([Int], run: Int)
  case end(RunEnd)
  /// Nothing was left of the run when this was put in. If that is still so, now that what came before has been told, the
  /// run has ended: a hook may have retried the task whose failure it was told of.
  case endIfIdle
}

/// What the caller of an input has to do when the lock is dropped, in the order of the fields.
struct WorkflowEffects: Sendable {
  enum SubworkflowVerb: Sendable {
    case cancel, reset, rearm
  }

  enum Start: Sendable, Equatable {
    /// A run, for the tasks that are wanted.
    case wanted
    /// A run that starts every task that can run.
    case everything
  }

  /// What the other workflows inside of this one have to do, by their plans.
  var subworkflows: [(AnyTaskPlan, SubworkflowVerb)] = []
  /// The operations of attempts that do not count any more.
  var cancelled: [Operation] = []
  /// Whether the caller is the one to empty the outbox.
  var delivers = false
  /// Tasks that can run in the run of this number.
  var ready: [Int] = []
  var run = 0
  /// The runs that have ended.
  var ends: [RunEnd] = []
  /// A run is needed.
  var start: Start?
  /// Results and errors that were dropped. Nothing is done with them: they are let go of when the lock is, for that may
  /// run code of the user's.
  var released: [any Sendable] = []
}
