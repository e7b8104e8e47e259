import CompositeOperations

/// What a failed workflow failed with, by the places of its tasks.
struct WorkflowFailureRecord: Sendable {
  typealias Failure = (task: Int, error: any Error)
  typealias Blocked = (task: Int, cause: Int)

  private let parts: Parts

  init(failures: [Failure], blocked: [Blocked]) {
    parts = Parts(failures: failures, blocked: blocked)
  }

  /// The failed tasks, in task order.
  var failures: [Failure] { parts.failures }
  /// The tasks that cannot run, in task order, each with the failed or cancelled task that keeps it from it.
  var blocked: [Blocked] { parts.blocked }

  /// An object, because workflows may nest deeper than a stack goes: the errors, of which each may hold the next, are released
  /// without a stack frame for each.
  private final class Parts: @unchecked Sendable {  // changed only when it is released
    private(set) var failures: [Failure]
    let blocked: [Blocked]

    init(failures: [Failure], blocked: [Blocked]) {
      self.failures = failures
      self.blocked = blocked
    }

    deinit {
      var failures: [Failure]? = failures
      self.failures = []
      ReleaseList.release(&failures)
    }
  }
}
