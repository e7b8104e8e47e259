/// An interceptor for all types of task, made of a closure, which sees them and cannot change them.
///
/// ```swift
/// ClosureInterceptor { task, batchCount in task is Search && offline ? .hold : .execute }
/// ```
public struct ClosureInterceptor: Interceptor {
  private let body: @Sendable (any ManagedTask, _ batchCount: Int) async throws -> InterceptCommand
  /// How long the closure may take about one task; nil for no limit.
  public var timeout: Duration?

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public init(
    timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: any ManagedTask, _ batchCount: Int) async throws -> InterceptCommand
  ) {
    self.timeout = timeout
    self.body = body
  }

  /// Calls the closure.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    try await body(task, batchCount)
  }
}
