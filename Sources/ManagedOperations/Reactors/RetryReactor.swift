public import CompositeOperations
import HTTPOperations

/// Has tasks that failed execute again, as a `RetryPolicy` says: each by itself, with the delays of the policy.
///
/// ```swift
/// let manager = OperationManager(reactors: [
///   RetryReactor(policy: RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(200))))
/// ])
/// ```
///
/// If the server of an `HTTPStatusError` said when to try again, with `Retry-After`, it is that long at least. When there is no
/// further attempt the task fails with the last error, as it is. A cancelled attempt is not retried. The policy's attempts are
/// all attempts of the task, also those that other reactors have caused.
public struct RetryReactor: Reactor {
  private let policy: RetryPolicy
  private let random: RandomFractions
  private let isFor: @Sendable (any ManagedTask) -> Bool

  /// Makes a reactor.
  ///
  /// - Parameters:
  ///   - policy: how often, after how long, and after which errors.
  ///   - isFor: which tasks may be retried; by default all.
  public init(
    policy: RetryPolicy = RetryPolicy(),
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) {
    self.policy = policy
    self.isFor = isFor
    random = RandomFractions(policy.randomSource)
  }

  /// As often as the policy says, within any time.
  public var configuration: ReactorConfiguration {
    ReactorConfiguration(timeout: nil, maxRequeues: policy.maxAttempts == .max ? .max : policy.maxAttempts - 1)
  }

  /// Yes, if it failed.
  public func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    outcome.error != nil && isFor(task)
  }

  /// None: each task is retried by itself.
  public func key<T: ManagedTask>(for task: T) -> String? { nil }

  /// Asks the policy.
  public func react(to context: ReactionContext) async throws -> Reaction {
    guard let error = context.error, context.attempt < policy.maxAttempts else { return .deliver }
    let delay: Duration
    switch policy.decide(error, context.attempt) {
    case .stop: return .deliver
    case .retryAfter(let asked): delay = max(asked, (error as? HTTPStatusError)?.retryAfter ?? .zero)
    case .retry:
      let fraction = await random.next()
      let backoff = policy.delay(afterAttempt: context.attempt, randomFraction: { fraction })
      delay = max(backoff, (error as? HTTPStatusError)?.retryAfter ?? .zero)
    }
    policy.willRetry?(error, context.attempt, delay)
    return .requeue(after: delay)
  }
}

/// Draws random numbers, one at a time, without a lock around the user's source.
private actor RandomFractions {
  private var source: any RandomNumberGenerator & Sendable

  init(_ source: any RandomNumberGenerator & Sendable) {
    self.source = source
  }

  func next() -> Double {
    func draw(_ source: inout some RandomNumberGenerator & Sendable) -> Double {
      Double.random(in: 0...1, using: &source)
    }
    return draw(&source)
  }
}
