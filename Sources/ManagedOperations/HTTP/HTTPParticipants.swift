import CompositeOperations
public import HTTPOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Interceptor where Self == AnyInterceptor {
  /// Sets the same header fields in all requests.
  ///
  /// See ``headers(timeout:where:_:)`` for what becomes of the fields.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - isFor: which requests they are for; by default all. Secrets belong to one server only.
  public static func headers(
    _ fields: HTTPHeaders, where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true }
  ) -> Self {
    headers(timeout: nil, where: isFor) { _ in fields }
  }

  /// Asks a closure for the header fields of each request.
  ///
  /// ```swift
  /// .headers(where: { $0.url?.host() == "api.example.com" }) { _ in
  ///   ["Authorization": "Bearer \(try await tokens.current)"]
  /// }
  /// ```
  ///
  /// They replace fields of the request, and of the task's ``HTTPTask/headers``. A field that no
  /// request may have, because of a line break in its value for example, fails the interception
  /// with an `HTTPError` whose code is `invalidRequest`. No redirect takes these fields to another
  /// scheme, host or port.
  ///
  /// The closure is asked again when a reactor has a request made and intercepted again, as
  /// `.refreshingToken` does. The fields of the time before are taken back first, so one that it no
  /// longer gives is not sent; what others have set instead stays. Tasks of other types than
  /// ``HTTPTask`` pass.
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one request; nil for no limit.
  ///   - isFor: which requests they are for; by default all. Secrets belong to one server only.
  ///   - fields: gives the fields. The requests behind wait until it returns. If it throws, the
  ///     task fails with ``ManagedTaskError``, whose code is `interceptionFailed`.
  public static func headers(
    timeout: Duration? = .seconds(60), where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true },
    _ fields: @escaping @Sendable (_ request: URLRequest) async throws -> HTTPHeaders
  ) -> Self {
    let interceptor = TypedInterceptor<HTTPTask>(timeout: timeout) { task, _ in
      guard isFor(task.request) else { return .pass }
      let fields = try await fields(task.request)
      try fields.check(for: task.request.url)
      for (name, value) in fields.dictionary { task.setField(name, to: value) }
      return .execute
    }
    return AnyInterceptor(base: interceptor, name: ".headers")
  }
}

extension Reactor where Self == AnyReactor {
  /// Refreshes a token when the server no longer accepts it, and makes the requests again.
  ///
  /// ```swift
  /// let http = HTTPManager(
  ///   interceptors: [.headers { _ in ["Authorization": "Bearer \(await tokens.current)"] }],
  ///   reactors: [.refreshingToken { _ in try await tokens.refresh() }])
  /// ```
  ///
  /// No request starts during a refresh. All requests that were refused meanwhile, or are refused
  /// later with the old token, are made again without a further refresh. They are intercepted
  /// again, so that an interceptor gives them the new token: a hundred refused requests cause one
  /// refresh. A refresh that fails fails the requests that wait for it with ``ManagedTaskError``,
  /// whose code is `reactionFailed`; the next refused request refreshes again.
  ///
  /// Do not make the request that refreshes with the same manager, which does not start it: use
  /// another one, or an `HTTPOperation`.
  ///
  /// - Parameters:
  ///   - statuses: which statuses mean that the token is not accepted.
  ///   - timeout: how long a refresh may take; nil for no limit.
  ///   - maxRequeues: how often one request is made again. Then its last answer stands.
  ///   - key: what the token belongs to: one refresh at a time for each key, and none for nil. By
  ///     default the scheme, host and port that the request goes to.
  ///   - refresh: gets a new token, and keeps it where the interceptors find it. The context's key
  ///     is that of the token.
  public static func refreshingToken(
    statuses: Set<Int> = [401], timeout: Duration? = .seconds(60), maxRequeues: Int = 3,
    key: @escaping @Sendable (_ task: HTTPTask) -> String? = { $0.server },
    _ refresh: @escaping @Sendable (_ context: ReactionContext) async throws -> Void
  ) -> Self {
    let configuration = ReactorConfiguration(
      suspendsQueue: true, reinterceptsOnRequeue: true, timeout: timeout, maxRequeues: maxRequeues)
    let reactor: AnyReactor = reacting(
      to: HTTPTask.self, configuration: configuration, key: key,
      when: { outcome, task in
        let status = (outcome.error as? HTTPStatusError)?.status ?? outcome.value?.status
        return status.map(statuses.contains) == true && key(task) != nil
      },
      { context in
        try await refresh(context)
        return .requeue()
      })
    return AnyReactor(base: reactor.base, name: ".refreshingToken")
  }
}

extension HTTPTask {
  /// Scheme, host and port that the request goes to; nil if it goes nowhere.
  public var server: String? { request.url?.server }
}
