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
final class RetryDecision: TaskGate, @unchecked Sendable {  // see the fields
  // Only the task uses it, or the one caller that settles the operation unstarted.
  private var question: (decide: RetryAttempt.Decide, failed: RetryAttempt)?
  /// The decision. The task sets it before the operation succeeds.
  private(set) var decision: RetryPolicy.Decision?

  init(_ decide: @escaping RetryAttempt.Decide, after failed: RetryAttempt, priority: TaskPriority) {
    question = (decide, failed)
    super.init(priority: priority)
  }

  override var purpose: String { "decides about another attempt" }

  override func work() async throws {
    guard let (decide, failed) = question.take() else { throw CancellationError() }
    decision = try await decide(failed)
  }

  override func discardWork() {
    question = nil
  }
}
