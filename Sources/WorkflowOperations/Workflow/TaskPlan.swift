import CompositeOperations
import Foundation

/// A task as it was added; it never changes.
final class TaskPlan: AnyTaskPlan, @unchecked Sendable {  // only constants
  /// Makes the operation of an attempt from the results of the prerequisites. The user's code.
  typealias Body = @Sendable (PrerequisiteResults) throws -> Operation

  enum Work: Sendable {
    /// An operation made for each attempt.
    case body(Body)
    /// There is no operation: the task waits to be told its result.
    case condition
    /// Another workflow, whose run is the attempt.
    case subworkflow(Workflow)
  }

  /// The class of its handles.
  fileprivate let handleType: AnyWorkflowTask.Type
  fileprivate let ownWork: Work
  /// Where the attempts run, if not where those of the workflow do.
  fileprivate let ownQueue: OperationQueue?

  init(
    name: String?, handle: AnyWorkflowTask.Type, work: Work, prerequisites: [Int] = [], keys: [String] = [],
    requiredKeys: Set<String> = [], operationQueue: OperationQueue? = nil
  ) {
    handleType = handle
    ownWork = work
    ownQueue = operationQueue
    let isCondition = if case .condition = work { true } else { false }
    let isSubworkflow = if case .subworkflow = work { true } else { false }
    super.init(
      name: name, isCondition: isCondition, isSubworkflow: isSubworkflow, prerequisites: prerequisites, keys: keys,
      requiredKeys: requiredKeys)
  }
}

extension AnyTaskPlan {
  /// The whole plan: there is no other subclass.
  private var whole: TaskPlan { unsafeDowncast(self, to: TaskPlan.self) }

  /// The class of its handles.
  var handle: AnyWorkflowTask.Type { whole.handleType }

  var work: TaskPlan.Work { whole.ownWork }

  /// Where the attempts run, if not where those of the workflow do.
  var operationQueue: OperationQueue? { whole.ownQueue }

  /// The workflow whose run is the attempt, if there is one.
  var subworkflow: Workflow? {
    guard isSubworkflow, case .subworkflow(let workflow) = work else { return nil }
    return workflow
  }
}
