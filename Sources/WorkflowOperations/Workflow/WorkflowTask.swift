public import CompositeOperations
import Foundation

/// A task of a workflow with a result of type `Value`.
///
/// `Workflow.add` makes it; see ``AnyWorkflowTask`` for what it is and can do.
public class WorkflowTask<Value: Sendable>: AnyWorkflowTask, @unchecked Sendable {  // only constants
  /// How the task ended: with its result, its error, or cancelled; nil while it is pending, ready or executing.
  public final var outcome: Outcome<Value>? { anyOutcome?.map { $0 as! Value } }

  /// The result of a finished task, otherwise nil.
  public final var result: Value? { outcome?.value }

  /// Called each time the task finishes, with its result, before tasks that depend on it run. See
  /// ``WorkflowDelegate`` for when and where. Given the task, so that it need not capture it: that would keep the
  /// workflow alive for ever.
  public final var didFinish: (@Sendable (_ task: WorkflowTask<Value>, _ result: Value) -> Void)? {
    get { (hooks.didFinish as? FinishHook<Value>)?.body }
    set {
      let hook = newValue.map { FinishHook(body: $0) }
      setHook { $0.didFinish = hook }
    }
  }

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

/// A closure whose type says what it is given.
final class FinishHook<Value: Sendable>: Sendable {
  let body: @Sendable (WorkflowTask<Value>, Value) -> Void

  init(body: @escaping @Sendable (WorkflowTask<Value>, Value) -> Void) {
    self.body = body
  }
}
