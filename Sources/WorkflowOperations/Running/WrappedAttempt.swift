import CompositeOperations
import Foundation

/// An attempt around the operation of the task.
protocol WrappedAttempt: CompositeOperation {
  /// What it is around, as soon as that is there.
  var attempt: Operation? { get }
}

extension WrappedAttempt {
  /// How the attempt ended, or why it could not run.
  var attemptOutcome: Outcome<any Sendable>? {
    if let error = (outcome?.error as? CompositeError)?.failures.first?.error { return .failure(error) }
    return (attempt as? any WrappedAttempt)?.attemptOutcome ?? attempt?.anyOutcome
  }
}

/// An attempt in a queue of its own: a composite needs no slot where it is, and its child one of that queue.
final class QueuedAttempt: CompositeOperation, WrappedAttempt, @unchecked Sendable {  // a constant
  let attempt: Operation?

  init(_ attempt: Operation, in queue: OperationQueue) {
    self.attempt = attempt
    super.init(operations: [attempt], operationQueue: queue)
  }
}

/// An attempt whose start has to be told before the closure of the task is called, and will be by another thread, which is
/// busy telling what happened before.
final class ToldAttempt: CompositeOperation, WrappedAttempt, @unchecked Sendable {  // locked
  private let made: LockBox<Operation?>

  /// - Parameter make: makes the operation when the start has been told.
  init(_ name: String, after notice: StartNotice, make: @escaping @Sendable () throws -> Operation) {
    made = LockBox(nil)
    super.init(sequence: Steps(notice: notice, make: make, made: made))
    self.name = name
  }

  var attempt: Operation? { made.withLock { $0 } }

  private struct Steps: CompositeOperation.Sequence {
    let notice: StartNotice
    let make: @Sendable () throws -> Operation
    let made: LockBox<Operation?>

    mutating func nextOperation(after previous: Operation?) throws -> Operation? {
      guard let previous else { return notice }
      guard previous === notice else { return nil }
      let operation = try make()
      made.withLock { $0 = operation }
      return operation
    }
  }
}
