public import CompositeOperations
import HTTPOperations

extension Reactor where Self == AnyReactor {
  /// Executes failed tasks again, as a `RetryPolicy` says: each by itself, with the delays of the
  /// policy.
  ///
  /// ```swift
  /// let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(200)))
  /// let manager = OperationManager(reactors: [.retrying(policy)])
  /// ```
  ///
  /// If the server of an `HTTPStatusError` said when to try again, with `Retry-After`, the delay is
  /// at least that long. After the last attempt the task fails with its error, unchanged. A
  /// cancelled attempt is not retried. The policy counts all attempts of the task, also those that
  /// other reactors have caused.
  ///
  /// - Parameters:
  ///   - policy: how often, after how long, and after which errors.
  ///   - isFor: which tasks may be retried; by default all.
  public static func retrying(
    _ policy: RetryPolicy = RetryPolicy(),
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) -> Self {
    AnyReactor(
      base: Retrying(policy: policy, random: RandomFractions(policy.randomSource), isFor: isFor), name: ".retrying")
  }
}

private struct Retrying: Reactor {
  let policy: RetryPolicy
  let random: RandomFractions
  let isFor: @Sendable (any ManagedTask) -> Bool

  var configuration: ReactorConfiguration {
    ReactorConfiguration(timeout: nil, maxRequeues: policy.maxAttempts == .max ? .max : policy.maxAttempts - 1)
  }

  func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    outcome.error != nil && isFor(task)
  }

  /// Each task is retried by itself.
  func key<T: ManagedTask>(for task: T) -> String? { nil }

  func react(to context: ReactionContext) async throws -> Reaction {
    guard let error = context.outcome.error, context.attempt < policy.maxAttempts else { return .deliver }
    var delay: Duration
    switch policy.decide(error, context.attempt) {
    case .stop: return .deliver
    case .retryAfter(let asked): delay = asked
    case .retry:
      let fraction = await random.next()
      delay = policy.delay(afterAttempt: context.attempt, randomFraction: { fraction })
    }
    delay = max(delay, (error as? HTTPStatusError)?.retryAfter ?? .zero)
    policy.willRetry?(error, context.attempt, delay)
    return .requeue(after: delay)
  }
}

/// Draws random numbers one at a time. The user's source runs under no lock.
private actor RandomFractions {
  private var source: any RandomNumberGenerator & Sendable

  init(_ source: any RandomNumberGenerator & Sendable) {
    self.source = source
  }

  func next() -> Double { OperationContext.bindNone { source.fraction() } }
}
