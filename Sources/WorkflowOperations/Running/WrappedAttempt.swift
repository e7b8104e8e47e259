import CompositeOperations
public import Foundation

/// An attempt around the operation of the task, for an attempt that has to wait, or that runs in a
/// queue of its own. An operation that other code has started is awaited, as without this.
final class WrappedAttempt: CompositeOperation, @unchecked Sendable {  // locked
  private let made: LockBox<Operation?>

  /// Runs the operation in a queue: a composite needs no slot where it is, and its child one of
  /// that queue; or where the composite is.
  init(_ attempt: Operation, in queue: OperationQueue?) {
    made = LockBox(attempt)
    super.init(operations: [attempt], operationQueue: queue)
    awaitChildrenOfOthers()
  }

  /// Waits until the event of the start has been passed on, by another thread that is passing on
  /// earlier events.
  ///
  /// - Parameters:
  ///   - make: makes the operation then.
  ///   - isAbandoned: whether the attempt no longer counts, which is so before its operation is
  ///     cancelled.
  init(
    _ name: String, after notice: StartNotice, make: @escaping @Sendable () throws -> Operation,
    isAbandoned: @escaping @Sendable () -> Bool
  ) {
    made = LockBox(nil)
    super.init(sequence: Steps(notice: notice, make: make, isAbandoned: isAbandoned, made: made))
    self.name = name
  }

  /// The operation of the task, as soon as there is one.
  var attempt: Operation? {
    let attempt = made.withLock { $0 }
    return (attempt as? WrappedAttempt).map(\.attempt) ?? attempt
  }

  /// How the attempt ended, or why it could not run.
  var attemptOutcome: Outcome<any Sendable>? {
    let attempt = made.withLock { $0 }
    // First that of an attempt inside: this one failed with the error of that composite.
    if let outcome = (attempt as? WrappedAttempt)?.attemptOutcome { return outcome }
    if let error = (outcome?.error as? CompositeError)?.failures.first?.error { return .failure(error) }
    return attempt?.anyOutcome
  }

  private struct Steps: CompositeOperation.Sequence {
    let notice: StartNotice
    let make: @Sendable () throws -> Operation
    let isAbandoned: @Sendable () -> Bool
    let made: LockBox<Operation?>

    mutating func nextOperation(after previous: Operation?) throws -> Operation? {
      guard let previous else { return notice }
      guard previous === notice else { return nil }
      let operation = try make()
      made.withLock { $0 = operation }
      // In this order: who cancels the attempt first notes that, and then looks for the operation.
      if isAbandoned() { operation.cancelAttempt() }
      return operation
    }
  }
}

extension Operation {
  /// Cancels the operation of an attempt, and first that of the task: also one that other code has
  /// started, which a composite around it would only leave.
  func cancelAttempt() {
    (self as? WrappedAttempt)?.attempt?.cancel()
    cancel()
  }
}

extension AnyWorkflowTask {
  /// The operation of the attempt that is under way, as the task's closure made it: to watch its
  /// progress and its parts, for example. For a subworkflow it is that of its run.
  ///
  /// Nil while the task does not execute, while its operation is being made, and for a condition.
  /// The workflow starts and ends it; cancelling it cancels the task.
  public final var operation: Operation? {
    let operation = workflow.storage.withLock { storage in
      storage.state.nodes[index].slot.flatMap { storage.state.attempts[$0]?.operation }
    }
    return (operation as? WrappedAttempt).map(\.attempt) ?? operation
  }

  /// How much of the task is done, from 0 to 1: 1 if it has finished, the progress of its
  /// ``operation`` while it executes, otherwise 0. It begins anew with each attempt.
  public final var fractionCompleted: Double {
    if state == .finished { return 1 }
    return (operation as? SettlingOperation)?.fractionCompleted ?? 0
  }
}
