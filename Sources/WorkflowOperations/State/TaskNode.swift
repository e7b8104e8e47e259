import CompositeOperations
import Foundation

/// A task and how it stands. There may be very many, so numbers are stored as short as they are.
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
  /// How many of its prerequisites have not finished, whatever its own state is.
  var unmetCount: Int {
    get { Int(unmet) }
    set { unmet = Int32(newValue) }
  }

  /// The number of the last attempt that was started; 0 before the first.
  var attempt: Int {
    get { Int(lastAttempt) }
    set { lastAttempt = Int32(newValue) }
  }

  /// Where the attempt that counts is, while the task executes; nil for a condition, which has no operation.
  var slot: Int? {
    get { slotOrNone < 0 ? nil : Int(slotOrNone) }
    set { slotOrNone = Int32(newValue ?? -1) }
  }

  /// The run whose operation was told that the task is ready, and has not come for it yet; 0 for none.
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
}

/// How many tasks are in each state.
struct TaskCounts: Sendable {
  private var counts = [Int](repeating: 0, count: TaskNode.State.allCases.count)

  subscript(state: TaskNode.State) -> Int {
    get { counts[state.rawValue] }
    set { counts[state.rawValue] = newValue }
  }
}
