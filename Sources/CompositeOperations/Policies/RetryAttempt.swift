/// One attempt of `retrying`, with the errors of the attempts before it. The closures of
/// ``retrying(_:clock:_:decide:)`` receive it.
///
/// ```swift
/// let photo = retrying(RetryPolicy(maxAttempts: 4)) { attempt in
///   Download(attempt.lastError is OperationTimeout ? mirror : url)
/// }
/// ```
public struct RetryAttempt: Sendable {
  /// The number of the attempt, from 1.
  public let number: Int

  /// The time since the first attempt began, on the clock that measures delays.
  public let elapsed: Duration

  let failures: RetryError.Failures

  /// The errors of the attempts so far, in order. Empty before the first attempt.
  ///
  /// If there were more than 16 errors, these are the first four and the newest, as in
  /// ``RetryError/errors``.
  public var errors: [any Error] { failures.errors }

  /// The error of the last failed attempt; nil before the first attempt.
  public var lastError: (any Error)? { failures.errors.last }

  /// A closure that decides what to do after an attempt has failed.
  typealias Decide = @Sendable (_ failed: RetryAttempt) async throws -> RetryPolicy.Decision
}

/// Calls a `Decide` closure in a task after an attempt has failed.
final class RetryDecision: GateOperation, @unchecked Sendable {  // see the fields
  // Used only by the caller that starts the operation or settles it unstarted.
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

  /// The decision; set when the operation has succeeded.
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
    // A concurrent cancel either finds the task here, or has set `isCancelled` before the check.
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
