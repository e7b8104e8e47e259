import CompositeOperations

/// An interceptor that is written after a dot: `.intercepting`, `.rateLimit` or `.headers`.
///
/// ```swift
/// let authorize: AnyInterceptor = .intercepting(Search.self) { search, _ in
///   search.token = await session.token
///   return .execute
/// }
/// let manager = OperationManager(interceptors: [authorize, .rateLimit(tokens: 10, per: .seconds(1))])
/// ```
///
/// One interceptor may serve several managers.
public struct AnyInterceptor: Interceptor {
  /// What it does. A manager asks this one.
  let base: any Interceptor
  /// How it was written, for events and errors.
  let name: String

  /// Decides as it was made to.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    try await base.intercept(&task, batchCount: batchCount)
  }

  /// How long it may take about one task; nil for no limit.
  public var timeout: Duration? { base.timeout }

  /// Whether it is `.rateLimit`, which does not change tasks.
  public var onlyHolds: Bool { base.onlyHolds }

  /// Passes the batch on.
  public func didAttach(to batch: TaskBatch) { base.didAttach(to: batch) }

  /// Passes the held task on.
  public func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) { base.didHold(task, as: held) }
}

extension Interceptor where Self == AnyInterceptor {
  /// Asks a closure about tasks of all types, which it sees and cannot change.
  ///
  /// ```swift
  /// .intercepting { task, batchCount in task is Search && offline ? .hold : .execute }
  /// ```
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public static func intercepting(
    timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: any ManagedTask, _ batchCount: Int) async throws -> InterceptCommand
  ) -> Self {
    AnyInterceptor(base: ClosureInterceptor(timeout: timeout, body: body), name: ".intercepting")
  }

  /// Asks a closure about tasks of one type, which it may change. Others pass, and release nothing.
  ///
  /// ```swift
  /// .intercepting(Search.self) { search, batchCount in
  ///   search.language = "fr"
  ///   return .execute
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for.
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public static func intercepting<Task: ManagedTask>(
    _ type: Task.Type, timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: inout Task, _ batchCount: Int) async throws -> InterceptCommand
  ) -> Self {
    AnyInterceptor(base: TypedInterceptor(timeout: timeout, body: body), name: ".intercepting(\(type).self)")
  }
}

private struct ClosureInterceptor: Interceptor {
  let timeout: Duration?
  let body: @Sendable (any ManagedTask, _ batchCount: Int) async throws -> InterceptCommand

  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    try await body(task, batchCount)
  }
}

struct TypedInterceptor<Task: ManagedTask>: Interceptor {
  let timeout: Duration?
  let body: @Sendable (inout Task, _ batchCount: Int) async throws -> InterceptCommand

  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    guard var typed = task as? Task else { return .pass }
    let command = try await body(&typed, batchCount)
    task = typed as! T
    return command
  }
}

/// The name of an interceptor or a reactor, for events and errors: as it was written, or its type.
func participantName(_ participant: Any) -> String {
  switch participant {
  case let interceptor as AnyInterceptor: interceptor.name
  case let reactor as AnyReactor: reactor.name
  case is BatchInterceptor: ".batch"
  default: "\(type(of: participant))"
  }
}
