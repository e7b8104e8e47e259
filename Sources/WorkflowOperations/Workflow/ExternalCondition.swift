import CompositeOperations
import Foundation

/// A task that waits until somebody tells it its result: that a file is there, that the user has agreed.
///
/// It has no operation, occupies no place in the workflow's limit, and does not fail by waiting: once it is started and
/// its prerequisites have finished it is `executing`, until it is fulfilled. As long as it executes, the workflow does
/// not settle.
public final class ExternalCondition<Value: Sendable>: WorkflowTask<Value>, @unchecked Sendable {  // only constants
  /// Whether the condition has a value: one that it has finished with, or will when it runs.
  public var isFulfilled: Bool {
    workflow.storage.withLock { $0.state.fulfilments[index] != nil }
  }
}
