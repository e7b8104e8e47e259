public import CompositeOperations

/// Work that an ``OperationManager`` runs: a value that makes an operation for each attempt.
///
/// ```swift
/// struct Search: ManagedTask {
///   var query: String
///   func makeOperation() -> SimpleOperation<[City]> { AsyncOperation { try await find(query) } }
/// }
/// let handle = manager.add(Search(query: "Paris"))
/// let cities = try await handle.value
/// ```
///
/// Since it is a value, an ``Interceptor`` can change it before it executes, and a ``Reactor`` can
/// have it execute again.
public protocol ManagedTask<Value>: Sendable {
  /// The type of the work's value.
  associatedtype Value: Sendable

  /// Makes the operation of one attempt: a new one each time, not started.
  ///
  /// Called once for each attempt, when it may start, on a thread that runs operations, under no
  /// lock.
  ///
  /// - Throws: makes the attempt fail with this error. `CancellationError` cancels it.
  func makeOperation() throws -> SimpleOperation<Value>

  /// How long an attempt may execute, unless another time is given when the task is added; nil, the
  /// default, for no limit. Read once, when the task is added.
  var timeout: Duration? { get }
}

extension ManagedTask {
  /// No limit.
  public var timeout: Duration? { nil }
}

/// Where a task is on its way through an ``OperationManager``.
///
/// ```text
/// pending ─▶ (delayed) ─▶ intercepting ─▶ (held) ─▶ queued ─▶ executing ─▶ (reacting) ─▶ finished
///                ▲                                    ▲                        │
///                └────────────── requeued ────────────┴────────────────────────┘
/// ```
///
/// A queued task is intercepted again if a reaction has outdated what the interceptors made of it.
/// A cancel leads from each state to `finished`.
public enum ManagedTaskState: String, Sendable, CaseIterable {
  /// It was added, and not started.
  case pending
  /// It waits for its delay: that of `add(_:startImmediately:after:timeout:)`, or that of a
  /// reaction.
  case delayed
  /// It waits for the interceptors, or they look at it.
  case intercepting
  /// An interceptor holds it in its batch.
  case held
  /// It can execute, and waits for its turn.
  case queued
  /// An attempt is under way.
  case executing
  /// An attempt has ended, and reactors decide what that means.
  case reacting
  /// It has an outcome.
  case finished
}

/// A task made of a closure, or of another task whose type is erased.
///
/// ```swift
/// let handle = manager.add(AnyManagedTask { try await load(url) })
/// let tasks: [AnyManagedTask<Int>] = [AnyManagedTask(Count(words)), AnyManagedTask { 7 }]
/// ```
///
/// Interceptors and reactors for one type of task do not see the type inside.
public struct AnyManagedTask<Value: Sendable>: ManagedTask {
  private let make: @Sendable () throws -> SimpleOperation<Value>
  /// How long an attempt may execute; nil for no limit.
  public var timeout: Duration?

  /// Makes a task of an async closure, which each attempt calls in a Swift task of its own.
  ///
  /// Cancelling the attempt cancels that Swift task. Traps if `Value` is an `Operation`; use
  /// ``init(timeout:makeOperation:)``.
  ///
  /// - Parameters:
  ///   - timeout: how long an attempt may execute; nil for no limit.
  ///   - work: the work.
  public init(timeout: Duration? = nil, _ work: @escaping @Sendable () async throws -> Value) {
    requireValue(Value.self, of: "AnyManagedTask")
    self.init(timeout: timeout, makeOperation: { AsyncOperation { try await work() } })
  }

  /// Makes a task of a closure that makes an operation for each attempt.
  ///
  /// - Parameters:
  ///   - timeout: how long an attempt may execute; nil for no limit.
  ///   - makeOperation: makes a new operation each time. See ``ManagedTask/makeOperation()``.
  public init(timeout: Duration? = nil, makeOperation: @escaping @Sendable () throws -> SimpleOperation<Value>) {
    self.timeout = timeout
    make = makeOperation
  }

  /// Makes a task that does what another task does.
  ///
  /// - Parameters:
  ///   - task: the other task.
  ///   - timeout: how long an attempt may execute; nil for the other task's.
  public init(_ task: some ManagedTask<Value>, timeout: Duration? = nil) {
    self.init(timeout: timeout ?? task.timeout, makeOperation: { try task.makeOperation() })
  }

  /// Makes the operation of one attempt.
  public func makeOperation() throws -> SimpleOperation<Value> { try make() }
}

/// What a manager gives each task that has none of its own, as it is added.
protocol TaskDefaults: Sendable {
  func applied<T: ManagedTask>(to task: T) -> T
}

/// A task that is prepared before interceptors are asked about it again.
protocol ReinterceptedTask {
  mutating func willBeInterceptedAgain()
}
