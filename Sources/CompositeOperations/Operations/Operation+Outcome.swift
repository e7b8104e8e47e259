import Foundation

/// The outcome of an operation of any type, for sequence delegates.
extension Operation {
  /// The outcome of this operation, whatever its type; nil until it has one.
  ///
  /// A ``ComposableOperation`` has its own. A plain `Operation` (a `BlockOperation`, say) has no
  /// result: once finished it counts as a success with `()`, or as cancelled if `isCancelled` is
  /// true.
  public var anyOutcome: Outcome<any Sendable>? {
    if let operation = self as? SettlingOperation { return operation.erasedOutcome }
    // The most frequent type is recognized by a pointer comparison: a conformance look-up is slow.
    if type(of: self) != BlockOperation.self, let operation = self as? any ComposableOperation {
      return operation.erasingOutcome()
    }
    guard isFinished else { return nil }
    return isCancelled ? .cancelled : .success(())
  }

  /// The value of this operation, if it succeeded with one of type `T`; nil otherwise.
  ///
  /// ```swift
  /// mutating func nextOperation(after previous: Operation?) throws -> Operation? {
  ///   if let user = previous?.result(as: User.self) { return LoadPhotos(of: user) }
  ///   …
  /// ```
  public func result<T>(as type: T.Type = T.self) -> T? {
    // A cast from an optional would give nil as a `T` that is an optional.
    guard let value = anyOutcome?.value else { return nil }
    return value as? T
  }

  /// The error of this operation, if it failed; nil otherwise.
  public var failure: (any Error)? { anyOutcome?.error }
}

extension ComposableOperation {
  fileprivate func erasingOutcome() -> Outcome<any Sendable>? {
    if let outcome { return outcome.map { $0 as any Sendable } }
    guard isFinished else { return nil }
    return isCancelled ? .cancelled : .failure(OperationError(.missingOutcome, operation: self))
  }

  /// The outcome of an operation that is known to have finished, or to have been refused with an
  /// error.
  func settledOutcome(_ refusal: OperationError?) -> Outcome<Value> {
    if let refusal { return .failure(refusal) }
    if let outcome { return outcome }
    return isCancelled ? .cancelled : .failure(OperationError(.missingOutcome, operation: self))
  }
}
