/// The end of a unit of work: success with a value, failure with an error, or cancelled.
///
/// Every ``ComposableOperation`` settles with exactly one outcome. Cancellation is an outcome of
/// its own: neither a success without a value nor a failure.
public enum Outcome<Value: Sendable>: Sendable {
  /// The work succeeded with this value.
  case success(Value)
  /// The work failed with this error. It is never a `CancellationError`; that is ``cancelled``.
  case failure(any Error)
  /// The work was cancelled, before it started or while it ran.
  case cancelled

  /// Makes an outcome from a result. A `CancellationError` becomes ``cancelled``.
  public init(_ result: Result<Value, any Error>) {
    self.init(catching: result.get)
  }

  /// Makes an outcome from a result with an error of a certain type. A `CancellationError` becomes
  /// ``cancelled``.
  public init<Failure: Error>(_ result: Result<Value, Failure>) {
    self.init(result.erasingFailure)
  }

  /// Makes an outcome from what a closure returns or throws. A `CancellationError` becomes
  /// ``cancelled``.
  ///
  /// - Parameter body: called at once, on the calling thread.
  public init(catching body: () throws -> Value) {
    do { self = .success(try body()) } catch { self.init(error: error) }
  }

  private init(error: any Error) {
    self = error is CancellationError ? .cancelled : .failure(error)
  }

  /// The outcome as a result: ``cancelled`` is a failure with a `CancellationError`.
  public var result: Result<Value, any Error> {
    switch self {
    case .success(let value): .success(value)
    case .failure(let error): .failure(error)
    case .cancelled: .failure(CancellationError())
    }
  }

  /// Returns the value of a success.
  ///
  /// - Throws: the error of a ``failure(_:)``, and `CancellationError` for ``cancelled``.
  public func get() throws -> Value {
    try result.get()
  }

  /// Returns an outcome with the value of a success transformed; a failure or cancellation stays
  /// what it is.
  public func map<T: Sendable>(_ transform: (Value) throws -> T) rethrows -> Outcome<T> {
    switch self {
    case .success(let value): return .success(try transform(value))
    case .failure(let error): return .failure(error)
    case .cancelled: return .cancelled
    }
  }

  /// The value of a success, otherwise nil.
  public var value: Value? {
    if case .success(let value) = self { value } else { nil }
  }

  /// The error of a failure, otherwise nil. A cancellation has no error.
  public var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Whether the work was cancelled.
  public var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }
}

extension Outcome: CustomStringConvertible {
  /// `success(…)`, `failure(…)` or `cancelled`.
  public var description: String {
    switch self {
    case .success(let value): "success(\(value))"
    case .failure(let error): "failure(\(error))"
    case .cancelled: "cancelled"
    }
  }
}

extension Result {
  /// The same result with its error type erased.
  var erasingFailure: Result<Success, any Error> {
    // A cast instead of a conversion, for which the compiler calls a function that only Apple's
    // standard library has: the branches for Apple platforms could not be compiled elsewhere.
    mapError { ($0 as Any) as! any Error }
  }
}
