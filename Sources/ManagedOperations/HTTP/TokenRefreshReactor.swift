public import CompositeOperations
import Foundation
import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Has a token refreshed when the server does not accept it any more, and then makes the requests again.
///
/// ```swift
/// let http = HTTPManager(
///   interceptors: [HeaderInterceptor { _ in ["Authorization": "Bearer \(await tokens.current)"] }],
///   reactors: [TokenRefreshReactor { _ in try await tokens.refresh() }])
/// ```
///
/// While a refresh is under way no request starts. All that were refused meanwhile, or are refused later with the token of
/// before, are made again without a further refresh, and are intercepted again, so that an interceptor gives them the new
/// token: a hundred refused requests cause one refresh. A refresh that fails fails those that asked for it, with
/// ``ManagedTaskError``, whose code is `reactionFailed`; the next one that is refused asks again.
///
/// Do not make the request that refreshes with the same manager, which does not start it: make it in another one, or as an
/// `HTTPOperation`.
public struct TokenRefreshReactor: Reactor {
  private let statuses: Set<Int>
  private let makeKey: @Sendable (HTTPTask) -> String?
  private let refresh: @Sendable (ReactionContext) async throws -> Void
  /// The queue is suspended while a token is refreshed, and what is made again is intercepted again.
  public let configuration: ReactorConfiguration

  /// Makes a reactor.
  ///
  /// - Parameters:
  ///   - statuses: which statuses mean that the token is not accepted.
  ///   - timeout: how long a refresh may take; nil for no limit.
  ///   - maxRequeues: how often one request is made again. Then its last answer stands.
  ///   - key: what the token belongs to: one refresh at a time for each key, and none for nil. Unless said otherwise, the
  ///     scheme, host and port that the request goes to.
  ///   - refresh: gets a new token, and keeps it where the interceptors find it. The context's key is that of the token.
  public init(
    statuses: Set<Int> = [401], timeout: Duration? = .seconds(60), maxRequeues: Int = 3,
    key: @escaping @Sendable (_ task: HTTPTask) -> String? = { $0.server },
    _ refresh: @escaping @Sendable (_ context: ReactionContext) async throws -> Void
  ) {
    self.statuses = statuses
    self.refresh = refresh
    makeKey = key
    configuration = ReactorConfiguration(
      suspendsQueue: true, reinterceptsOnRequeue: true, timeout: timeout, maxRequeues: maxRequeues)
  }

  /// Whether it is a request that was refused.
  public func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    guard let task = task as? HTTPTask, makeKey(task) != nil else { return false }
    let status = (outcome.error as? HTTPStatusError)?.status ?? (outcome.value as? HTTPResponse)?.status
    return status.map(statuses.contains) ?? false
  }

  /// What the token belongs to.
  public func key<T: ManagedTask>(for task: T) -> String? {
    (task as? HTTPTask).flatMap(makeKey)
  }

  /// Refreshes the token.
  public func react(to context: ReactionContext) async throws -> Reaction {
    try await refresh(context)
    return .requeue()
  }
}

extension HTTPTask {
  /// Scheme, host and port that the request goes to; nil if it goes nowhere.
  public var server: String? { request.url?.server }
}
