/// An interceptor for one type of task, made of a closure. It has all others execute.
///
/// ```swift
/// TypedInterceptor(Search.self) { search, batchCount in
///   search.language = "fr"
///   return .execute
/// }
/// ```
///
/// Tasks of another type release nothing of what it holds.
public struct TypedInterceptor<Task: ManagedTask>: Interceptor {
  private let body: @Sendable (inout Task, _ batchCount: Int) async throws -> InterceptCommand
  /// How long the closure may take about one task; nil for no limit.
  public var timeout: Duration?

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for.
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public init(
    _ type: Task.Type, timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: inout Task, _ batchCount: Int) async throws -> InterceptCommand
  ) {
    self.timeout = timeout
    self.body = body
  }

  /// Calls the closure, for a task of its type. It has no opinion about others.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    guard var typed = task as? Task else { return .pass }
    let command = try await body(&typed, batchCount)
    task = typed as! T
    return command
  }
}
