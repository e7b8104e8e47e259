public import CompositeOperations
import Foundation

/// A task of a workflow with a result of type `Value`.
///
/// `Workflow.add` makes it; see ``AnyWorkflowTask`` for what it is and can do.
public class WorkflowTask<Value: Sendable>: AnyWorkflowTask, @unchecked Sendable {  // only constants
  /// How the task ended: with its result, its error, or cancelled; nil while it is pending, ready
  /// or executing.
  public final var outcome: Outcome<Value>? { anyOutcome?.map { $0 as! Value } }

  /// The result of a finished task, otherwise nil.
  public final var result: Value? { outcome?.value }

  override final func callFinishHook(_ hook: any Sendable, value: any Sendable) {
    if let hook = hook as? FinishHook<Value>, let value = value as? Value { hook.body(self, value) }
  }

  override final class var valueType: Any.Type { Value.self }

  override final class func decode(_ text: String) throws -> any Sendable {
    guard let type = Value.self as? any (Decodable & Sendable).Type else {
      throw WorkflowSnapshotError.notDecodable(Value.self)
    }
    return try JSONDecoder().decode(type, from: Data(text.utf8))
  }
}

/// A task that waits to be told its result: that a file is there, that the user has agreed.
///
/// It has no operation, occupies no place in the workflow's limit, and does not fail by waiting.
/// Once it is started and its prerequisites have finished it is `executing`, until
/// ``fulfill(with:)`` is called. As long as it executes, the workflow does not settle.
public final class ExternalCondition<Value: Sendable>: WorkflowTask<Value>, @unchecked Sendable {  // only constants
  /// Whether the condition has its value: one that it has finished with, or will when it executes.
  public var isFulfilled: Bool { workflow.storage.withLock { $0.state.fulfilments[index] != nil } }
}
