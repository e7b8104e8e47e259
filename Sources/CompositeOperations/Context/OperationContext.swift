import Synchronization

/// Carries task-local values to the code that runs for operations.
///
/// ```swift
/// OperationContext.propagate(ServiceContext.$current)  // once, when the program starts
/// ```
///
/// An operation captures the values of the registered task-locals where it is made. The package
/// binds these values around everything of yours that it calls for the operation: bodies,
/// overrides, delegates of sequences, transforms, conditions, completions, cancel hooks, observers
/// and telemetry sinks. An operation that the package makes, or has made by one of your closures,
/// while a composition runs has the values of that composition, unless your closure binds others.
///
/// If an optional value was nil where an operation was made, the operation sees the value of the
/// composition that runs it. As soon as one task-local is registered, the package sets every
/// registered value around each call, also to nil or to its default. So your code never sees the
/// values of other code that happens to settle or cancel the operation.
///
/// Code that operations share sees no values: the closure `whenStateChanges` of a circuit breaker,
/// clocks and random sources of yours, reachability monitors, log handlers, key-value observers.
/// Overrides of `cancel()`, `addDependency(_:)` and the like run in the context of the code that
/// calls them: put work into `didCancel()`. Foundation calls `completionBlock`, and sets no values.
public enum OperationContext {
  /// Registers a task-local value that is nil where there is none. The default of its declaration
  /// must be nil, too.
  ///
  /// Operations that were made before the registration count as made where the value was nil. May
  /// be called at any time, on any thread, and several times for the same value: only the first
  /// call counts. A registration lasts as long as the process.
  ///
  /// - Parameter local: the task-local value, with the projection of its declaration:
  ///   `ServiceContext.$current`.
  public static func propagate<Value: Sendable>(_ local: TaskLocal<Value?>) {
    register(ContextKey(of: local, otherwise: nil, isOptional: true) { $0 != nil })
  }

  /// Registers a task-local value that has a default.
  ///
  /// Operations that were made before the registration have the value that this call sees. May be
  /// called at any time, on any thread, and several times for the same value: only the first call
  /// counts. A registration lasts as long as the process.
  ///
  /// - Parameter local: the task-local value, with the projection of its declaration:
  ///   `Settings.$isVerbose`.
  public static func propagate<Value: Sendable>(_ local: TaskLocal<Value>) {
    register(ContextKey(of: local, otherwise: local.get(), isOptional: false) { _ in true })
  }

  // MARK: - Registrations

  /// The newest registration; each knows the one before. They are never released.
  private static let newest = Atomic<Unmanaged<AnyContextKey>?>(nil)
  private static let registering = LockBox(())

  private static func register(_ key: AnyContextKey) {
    registering.withLock { _ in
      let last = keys
      var known = last
      while let other = known {
        if other.identity == key.identity { return }
        known = other.previous
      }
      key.previous = last
      key.number = (last?.number ?? 0) + 1
      newest.store(Unmanaged.passRetained(key), ordering: .releasing)
    }
  }

  /// Whether anything is registered.
  @inline(__always) package static var isUsed: Bool { newest.load(ordering: .relaxed) != nil }

  private static var keys: AnyContextKey? { newest.load(ordering: .acquiring)?.takeUnretainedValue() }

  // MARK: - Values

  /// The values where this is called. Nil if there are none.
  @inline(never)
  package static func capture() -> ContextValues? {
    var values: ContextValues?
    // The oldest first, so that the newest is the first of the list.
    func add(_ key: AnyContextKey?) {
      guard let key else { return }
      add(key.previous)
      values = key.captured(before: values)
    }
    add(keys)
    return values
  }

  /// Runs a closure with values, and with nil or the default for each value that is missing.
  package static func bind<R, Failure: Error>(
    _ values: ContextValues?, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    guard let keys else { return try body() }
    var result: Result<R, Failure>?
    bind(values, from: keys) {
      do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
    }
    return try result!.get()
  }

  /// Runs code that operations share, such as a clock of the user.
  @inline(__always)
  package static func bindNone<R>(_ body: () -> R) -> R { isUsed ? bind(nil, body) : body() }

  private static func bind(_ values: ContextValues?, from key: AnyContextKey?, _ body: () -> Void) {
    guard let key else { return body() }
    key.bind(key.value(in: values)) { bind(values, from: key.previous, body) }
  }

  /// Runs an `async` closure with values, like the form for synchronous ones.
  package static func bind<R: Sendable>(
    _ values: ContextValues?, _ body: @Sendable () async throws -> R
  ) async rethrows -> R {
    try await bind(values, from: keys, body)
  }

  private static func bind<R: Sendable>(
    _ values: ContextValues?, from key: AnyContextKey?, _ body: @Sendable () async throws -> R
  ) async rethrows -> R {
    guard let key else { return try await body() }
    return try await key.bind(key.value(in: values)) { try await bind(values, from: key.previous, body) }
  }
}

/// What an operation keeps its task-local values in.
package class ContextHolder {
  /// The values of the registered task-locals.
  var context: ContextValues? { nil }
}

/// The values of the registered task-locals where an operation was made: a list, in which the value
/// that was registered last comes first. Values that were nil are not in it.
package class ContextValues: ContextHolder, @unchecked Sendable {  // immutable
  fileprivate let key: AnyContextKey
  fileprivate let next: ContextValues?

  fileprivate init(_ key: AnyContextKey, before next: ContextValues?) {
    self.key = key
    self.next = next
  }

  override final var context: ContextValues? { self }

  fileprivate func copy(before next: ContextValues?) -> ContextValues { preconditionFailure("abstract") }

  /// The values of an operation that a composition runs.
  ///
  /// - Parameters:
  ///   - own: those where the operation was made.
  ///   - outer: those of the composition.
  package static func merge(_ own: ContextValues?, into outer: ContextValues?) -> ContextValues? {
    guard let outer, own !== outer else { return own }
    if let own, own.key.number >= outer.key.number {
      let rest = merge(own.next, into: own.key === outer.key ? outer.next : outer)
      return rest === own.next ? own : own.copy(before: rest)
    }
    let rest = merge(own, into: outer.next)
    // A value with a default was captured, or the operation is older than the registration.
    guard outer.key.isOptional else { return rest }
    return rest === outer.next ? outer : outer.copy(before: rest)
  }
}

/// The value of one task-local.
private final class ContextValue<Value: Sendable>: ContextValues, @unchecked Sendable {  // immutable
  let value: Value

  init(_ value: Value, of key: AnyContextKey, before next: ContextValues?) {
    self.value = value
    super.init(key, before: next)
  }

  override func copy(before next: ContextValues?) -> ContextValues { ContextValue(value, of: key, before: next) }
}

/// A registered task-local.
private class AnyContextKey: @unchecked Sendable {  // the fields are set before it is registered
  let identity: ObjectIdentifier
  let isOptional: Bool
  /// The registration before this one.
  final var previous: AnyContextKey?
  /// Higher than those of earlier registrations.
  final var number = 0

  init(_ identity: ObjectIdentifier, isOptional: Bool) {
    self.identity = identity
    self.isOptional = isOptional
  }

  func captured(before next: ContextValues?) -> ContextValues? { preconditionFailure("abstract") }

  func bind(_ value: ContextValues?, _ body: () -> Void) { preconditionFailure("abstract") }

  func bind<R: Sendable>(
    _ value: ContextValues?, _ body: @Sendable () async throws -> R
  ) async rethrows -> R {
    preconditionFailure("abstract")
  }

  /// The entry of this task-local in a list.
  final func value(in values: ContextValues?) -> ContextValues? {
    var next = values
    while let value = next, value.key.number > number { next = value.next }
    return next?.key === self ? next : nil
  }
}

private final class ContextKey<Value: Sendable>: AnyContextKey, @unchecked Sendable {  // as above
  private let local: TaskLocal<Value>
  /// The value where none was captured.
  private let missing: Value
  private let isCaptured: @Sendable (Value) -> Bool

  init(
    of local: TaskLocal<Value>, otherwise missing: Value, isOptional: Bool,
    capturedIf isCaptured: @escaping @Sendable (Value) -> Bool
  ) {
    self.local = local
    self.missing = missing
    self.isCaptured = isCaptured
    super.init(ObjectIdentifier(local), isOptional: isOptional)
  }

  override func captured(before next: ContextValues?) -> ContextValues? {
    let value = local.get()
    return isCaptured(value) ? ContextValue(value, of: self, before: next) : next
  }

  private func content(of value: ContextValues?) -> Value {
    value.map { unsafeDowncast($0, to: ContextValue<Value>.self).value } ?? missing
  }

  override func bind(_ value: ContextValues?, _ body: () -> Void) {
    local.withValue(content(of: value), operation: body)
  }

  override func bind<R: Sendable>(
    _ value: ContextValues?, _ body: @Sendable () async throws -> R
  ) async rethrows -> R {
    try await local.withValue(content(of: value), operation: body)
  }
}
