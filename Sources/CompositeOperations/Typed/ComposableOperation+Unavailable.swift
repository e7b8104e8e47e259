// First guesses that cannot compile. Each has a message that tells what to write instead.

extension ComposableOperation {
  /// Unavailable: the closure of ``then(_:)`` must return an operation.
  @available(
    *, unavailable,
    message: """
      the closure of then(_:) has to return an operation: write 'return' before it. To go on with a value, use map(_:)
      """
  )
  @_disfavoredOverload
  public func then(_ next: @escaping @Sendable (Value) throws -> Void) -> SimpleOperation<Value> { fatalError() }
}

extension ComposableOperation where Self: SettlingOperation {
  /// Unavailable: a completion takes one argument, the outcome.
  @available(
    *, unavailable,
    message: """
      a completion takes one argument, the outcome: 'completion = { outcome in … }'. It has the 'value', the 'error' and \
      'isCancelled', and can be switched over
      """
  )
  public var completion: (@Sendable (Value?, (any Error)?) -> Void)? {
    get { nil }
    set {}
  }
}
