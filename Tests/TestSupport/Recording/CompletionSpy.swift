public import CompositeOperations

/// Records every call of one `completion`.
///
/// ```swift
/// let spy = CompletionSpy<Int>()
/// operation.completion = spy.completion
/// ```
public final class CompletionSpy<Value: Sendable>: Sendable {
  private let received = Locked<[Outcome<Value>]>([])
  private let called = Gate()

  /// Makes a spy that was not called yet.
  public init() {}

  /// The closure to set as an operation's `completion`.
  public var completion: @Sendable (Outcome<Value>) -> Void {
    { outcome in
      self.received.withLock { $0.append(outcome) }
      self.called.open()
    }
  }

  /// The outcomes of its calls, in order: one element when all is well.
  public var outcomes: [Outcome<Value>] {
    received.withLock { $0 }
  }

  /// How often it was called.
  public var count: Int {
    received.withLock { $0.count }
  }

  /// Waits for the first call and returns its outcome.
  public func first() async -> Outcome<Value> {
    await called.wait()
    return received.withLock { $0[0] }
  }
}
