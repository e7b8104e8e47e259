import CompositeOperations
import Foundation

/// A task and its state. A workflow may have very many, so numbers are stored in few bytes.
struct TaskNode: Sendable {
  typealias State = AnyWorkflowTask.State

  let plan: AnyTaskPlan
  /// The result of a finished task.
  var value: (any Sendable)?
  /// The error of a failed one.
  var error: (any Error)?
  private var started = Double.nan
  private var ended = Double.nan
  private var unmet: Int32 = 0
  private var lastAttempt: Int32 = 0
  private var slotOrNone: Int32 = -1
  private var run: Int32 = 0
  /// Changed only by `WorkflowState.move(_:to:)`, which counts.
  var state = State.ready
  /// Whether a ready task is to run: it was started, or became ready in a run.
  var isWanted = false

  init(plan: AnyTaskPlan) {
    self.plan = plan
  }

  /// How the task ended, if it has.
  var outcome: Outcome<any Sendable>? {
    switch state {
    case .finished: .success(value ?? ())
    case .failed: error.map { .failure($0) }
    case .cancelled: .cancelled
    case .pending, .ready, .executing: nil
    }
  }
}

extension TaskNode {
  /// How many of the prerequisites have not finished, in any state of the task.
  var unmetCount: Int {
    get { Int(unmet) }
    set { unmet = Int32(newValue) }
  }

  /// The number of the last attempt that was started; 0 before the first.
  var attempt: Int {
    get { Int(lastAttempt) }
    set { lastAttempt = Int32(newValue) }
  }

  /// The slot of the attempt that counts, while the task executes; nil for a condition, which has
  /// no operation.
  var slot: Int? {
    get { slotOrNone < 0 ? nil : Int(slotOrNone) }
    set { slotOrNone = Int32(newValue ?? -1) }
  }

  /// The run whose operation was handed the task and has not claimed it yet; 0 for none.
  var handedInTo: Int {
    get { Int(run) }
    set { run = Int32(newValue) }
  }

  var startDate: Date? {
    get { started.isNaN ? nil : Date(timeIntervalSinceReferenceDate: started) }
    set { started = newValue?.timeIntervalSinceReferenceDate ?? .nan }
  }

  var finishDate: Date? {
    get { ended.isNaN ? nil : Date(timeIntervalSinceReferenceDate: ended) }
    set { ended = newValue?.timeIntervalSinceReferenceDate ?? .nan }
  }

  /// When the last attempt has begun and ended: no other one of the task has the same.
  var dates: (Date?, Date?) { (startDate, finishDate) }
}

/// How many tasks are in each state.
struct TaskCounts: Sendable {
  // No array, which would be an object of its own.
  private var counts = SIMD8<Int>()

  subscript(state: TaskNode.State) -> Int {
    get { counts[state.rawValue] }
    set { counts[state.rawValue] = newValue }
  }
}

extension AnyWorkflowTask {
  /// The state of a task. There will be no other states.
  public enum State: Int, Sendable, CaseIterable, CustomStringConvertible {
    /// A prerequisite has not finished.
    case pending
    /// All prerequisites have finished. The task runs when it is started; if it was, when there is
    /// room for it.
    case ready
    /// An attempt is under way. A condition that waits to be fulfilled is executing, too.
    case executing
    /// It has a result.
    case finished
    /// Its last attempt failed.
    case failed
    /// It was cancelled.
    case cancelled

    /// The state in one word, such as `executing`.
    public var description: String {
      switch self {
      case .pending: "pending"
      case .ready: "ready"
      case .executing: "executing"
      case .finished: "finished"
      case .failed: "failed"
      case .cancelled: "cancelled"
      }
    }
  }
}
