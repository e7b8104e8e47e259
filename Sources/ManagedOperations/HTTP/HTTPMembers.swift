public import HTTPOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

// The interceptor and the reactor for requests, to be named after a dot where one is expected.

extension Interceptor where Self == HeaderInterceptor {
  /// Sets the same header fields each time. See ``HeaderInterceptor``.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - isFor: which requests they are for; all of them unless said otherwise. Secrets belong to one server only.
  public static func headers(
    _ fields: HTTPHeaders, where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true }
  ) -> Self {
    HeaderInterceptor(fields, where: isFor)
  }

  /// Asks a closure for the header fields of each request. See ``HeaderInterceptor``.
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one request; nil for no limit.
  ///   - isFor: which requests they are for; all of them unless said otherwise. Secrets belong to one server only.
  ///   - fields: gives the fields. The requests behind wait until it returns.
  public static func headers(
    timeout: Duration? = .seconds(60), where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true },
    _ fields: @escaping @Sendable (_ request: URLRequest) async throws -> HTTPHeaders
  ) -> Self {
    HeaderInterceptor(timeout: timeout, where: isFor, fields)
  }
}

extension Reactor where Self == TokenRefreshReactor {
  /// Has a token refreshed when the server does not accept it any more, and then makes the requests again. See
  /// ``TokenRefreshReactor``.
  ///
  /// - Parameters:
  ///   - statuses: which statuses mean that the token is not accepted.
  ///   - timeout: how long a refresh may take; nil for no limit.
  ///   - maxRequeues: how often one request is made again. Then its last answer stands.
  ///   - key: what the token belongs to: one refresh at a time for each key, and none for nil. Unless said otherwise, the
  ///     scheme, host and port that the request goes to.
  ///   - refresh: gets a new token, and keeps it where the interceptors find it. The context's key is that of the token.
  public static func refreshingToken(
    statuses: Set<Int> = [401], timeout: Duration? = .seconds(60), maxRequeues: Int = 3,
    key: @escaping @Sendable (_ task: HTTPTask) -> String? = { $0.server },
    _ refresh: @escaping @Sendable (_ context: ReactionContext) async throws -> Void
  ) -> Self {
    TokenRefreshReactor(statuses: statuses, timeout: timeout, maxRequeues: maxRequeues, key: key, refresh)
  }
}
