public import CompositeOperations

/// A task made of a closure, or of another task whose type does not matter any more.
///
/// ```swift
/// let handle = manager.add(AnyManagedTask { try await load(url) })
/// let tasks: [AnyManagedTask<Int>] = [AnyManagedTask(Count(words)), AnyManagedTask { 7 }]
/// ```
///
/// Interceptors and reactors that are made for one type of task do not see the type inside of it.
public struct AnyManagedTask<Value: Sendable>: ManagedTask {
  private let make: @Sendable () throws -> SimpleOperation<Value>
  /// How long an attempt may execute; nil for as long as it takes.
  public var timeout: Duration?

  /// Makes a task of an async closure, which is called for each attempt, in a task of its own.
  ///
  /// Cancelling the attempt cancels that task. Traps, when it runs, if `Value` is an `Operation`; use
  /// ``init(timeout:makeOperation:)``.
  ///
  /// - Parameters:
  ///   - timeout: how long an attempt may execute; nil for as long as it takes.
  ///   - work: the work.
  public init(timeout: Duration? = nil, _ work: @escaping @Sendable () async throws -> Value) {
    self.init(timeout: timeout, makeOperation: { AsyncOperation { try await work() } })
  }

  /// Makes a task of a closure that makes an operation for each attempt.
  ///
  /// - Parameters:
  ///   - timeout: how long an attempt may execute; nil for as long as it takes.
  ///   - makeOperation: makes a new operation each time. See ``ManagedTask/makeOperation()``.
  public init(timeout: Duration? = nil, makeOperation: @escaping @Sendable () throws -> SimpleOperation<Value>) {
    self.timeout = timeout
    make = makeOperation
  }

  /// Makes a task that does what another one does.
  ///
  /// - Parameters:
  ///   - task: the other one.
  ///   - timeout: how long an attempt may execute; nil for the other task's.
  public init(_ task: some ManagedTask<Value>, timeout: Duration? = nil) {
    self.init(timeout: timeout ?? task.timeout, makeOperation: { try task.makeOperation() })
  }

  /// Makes the operation of one attempt.
  public func makeOperation() throws -> SimpleOperation<Value> { try make() }
}
