public import HTTPOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sets header fields of requests, always the same ones or asked for each time.
///
/// ```swift
/// HeaderInterceptor(["Accept": "application/json"])
/// HeaderInterceptor(where: { $0.url?.host() == "api.example.com" }) { _ in
///   ["Authorization": "Bearer \(try await tokens.current)"]
/// }
/// ```
///
/// A field that the request has is replaced, and so is one of the task's ``HTTPTask/headers``. One that no request may have,
/// because of a line break in its value for example, is an `HTTPError` with the code `invalidRequest`, which is what the
/// interception fails with. No redirect takes these fields to another scheme, host or port.
///
/// It is asked again when a reactor has a request made again and intercepted again, as ``TokenRefreshReactor`` does. Tasks of other
/// types than ``HTTPTask`` are left alone.
public struct HeaderInterceptor: Interceptor {
  private let isFor: @Sendable (URLRequest) -> Bool
  private let fields: @Sendable (URLRequest) async throws -> HTTPHeaders
  /// How long the closure may take about one request; nil for no limit.
  public var timeout: Duration?

  /// Makes an interceptor that sets the same fields each time.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - isFor: which requests they are for; all of them unless said otherwise. Secrets belong to one server only.
  public init(
    _ fields: HTTPHeaders, where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true }
  ) {
    self.init(timeout: nil, where: isFor) { _ in fields }
  }

  /// Makes an interceptor that asks a closure for the fields of each request.
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one request; nil for no limit.
  ///   - isFor: which requests they are for; all of them unless said otherwise. Secrets belong to one server only.
  ///   - fields: gives the fields. The requests behind wait until it returns. If it throws, the task fails with
  ///     ``ManagedTaskError``, whose code is `interceptionFailed`.
  public init(
    timeout: Duration? = .seconds(60), where isFor: @escaping @Sendable (_ request: URLRequest) -> Bool = { _ in true },
    _ fields: @escaping @Sendable (_ request: URLRequest) async throws -> HTTPHeaders
  ) {
    self.timeout = timeout
    self.isFor = isFor
    self.fields = fields
  }

  /// Sets the fields, and has the request made. It has no opinion about others.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    guard var http = task as? HTTPTask, isFor(http.request) else { return .pass }
    let fields = try await fields(http.request)
    try fields.check(for: http.request.url)
    for (name, value) in fields.dictionary {
      http.request.setValue(value, forHTTPHeaderField: name)
      // It would replace the one that was just set.
      http.headers[name] = nil
      http.secretFields.insert(name)
    }
    task = http as! T
    return .execute
  }
}
