/// One attempt of `retrying`, with the errors of the attempts before it: the argument of the closures of
/// ``retrying(_:clock:_:decide:)``.
///
/// ```swift
/// let photo = retrying(RetryPolicy(maxAttempts: 4)) { attempt in
///   Download(attempt.lastError is OperationTimeout ? mirror : url)
/// }
/// ```
public struct RetryAttempt: Sendable {
  /// Its number, from 1.
  public let number: Int

  /// The time from when the first attempt was begun, on the clock that delays are measured by.
  public let elapsed: Duration

  private let failures: RetryError.Failures

  init(number: Int, elapsed: Duration, _ failures: RetryError.Failures) {
    self.number = number
    self.elapsed = elapsed
    self.failures = failures
  }

  /// What attempts have failed with so far, in their order. Empty before the first attempt.
  ///
  /// Of more than ``RetryError/maxErrorCount`` these are the first four, and the newest, as in ``RetryError/errors``.
  public var errors: [any Error] { failures.errors }

  /// How many errors were left out, between the fourth and the fifth of ``errors``.
  public var omittedErrorCount: Int { failures.omittedCount }

  /// What the last attempt that failed has failed with; nil before the first attempt.
  public var lastError: (any Error)? { failures.errors.last }

  /// Decides what to do after an attempt has failed.
  public typealias Decide = @Sendable (_ failed: RetryAttempt) async throws -> RetryPolicy.Decision
}

/// Asks what to do after an attempt has failed, in a task.
final class RetryDecision: GateOperation, @unchecked Sendable {  // see the fields
  // Touched by the one caller that starts the operation, or settles it unstarted.
  private var work: (decide: RetryAttempt.Decide, failed: RetryAttempt)?
  private let task = LockBox<Task<Void, Never>?>(nil)
  private let decided = LockBox<RetryPolicy.Decision?>(nil)

  private let priority: TaskPriority

  init(_ decide: @escaping RetryAttempt.Decide, after failed: RetryAttempt, priority: TaskPriority) {
    work = (decide, failed)
    self.priority = priority
    super.init()
  }

  override var purpose: String { "decides about another attempt" }

  /// What was decided. There when the operation has succeeded.
  var decision: RetryPolicy.Decision? { decided.withLock { $0 } }

  override func main() {
    guard let (decide, failed) = work.take() else { return }
    let task = Task.detached(priority: priority) { [self] in
      let outcome: Outcome<Void>
      do {
        let decision = try await decide(failed)
        decided.withLock { $0 = decision }
        outcome = .success(())
      } catch is CancellationError {
        outcome = .cancelled
      } catch {
        outcome = .failure(error)
      }
      self.task.withLock { $0 = nil }
      settle(with: outcome)
    }
    // Whichever of the two is second sees the other: the cancel finds the task, or this finds the cancel.
    self.task.withLock { if !state.current.isSettled { $0 = task } }
    if isCancelled { task.cancel() }
  }

  override func didCancel() {
    task.withLock { $0 }?.cancel()
  }

  override func discardWork() {
    work = nil
  }
}
