import Foundation

/// One unit of work that settles exactly once: with a value, an error, or as cancelled.
///
/// Make one from a closure, or subclass it and override `main()`. The work may go on after `main()` returned; it ends
/// with the first call of ``finish(with:)``, ``reject(with:)`` or ``settle(with:)``, from any thread.
///
/// ```swift
/// let fetch = SimpleOperation<Data> { operation in
///   let task = session.dataTask(with: url) { data, _, error in
///     if let data { operation.finish(with: data) } else { operation.reject(with: error!) }
///   }
///   operation.onCancel = { task.cancel() }
///   task.resume()
/// }
///
/// final class Fetch: SimpleOperation<Data>, @unchecked Sendable {
///   override func main() { … }
///   override func didCancel() { … }
/// }
/// ```
///
/// See ``SettlingOperation`` for the order of events, and for what cancelling does.
///
/// Whoever can still settle an operation has to keep it alive, as the closures above do. An operation that was started
/// on its own and is released while it executes is reported on standard error in debug builds.
open class SimpleOperation<Value: Sendable>:
  SettlingOperation, ComposableOperation, @unchecked Sendable  // what guards each field stands there
{
  // Touched by the one caller that starts the operation, or settles it unstarted.
  @exclusivity(unchecked) private final var body: (@Sendable (SimpleOperation<Value>) -> Void)?
  // Guarded by the striped lock.
  @exclusivity(unchecked) private final var storedCompletion: (@Sendable (Outcome<Value>) -> Void)?
  #if DEBUG
  private final var sourceLocation: SourceLocation?
  override final var origin: SourceLocation? { sourceLocation }
  #endif

  /// Makes an operation whose work is an overridden `main()`.
  public override init() {
    super.init()
  }

  override init(flags: OperationState.Flags) {
    super.init(flags: flags)
  }

  /// Makes an operation whose work is a closure.
  ///
  /// Traps if `Value` is an `Operation`: it would never run. Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - fileID: the file in which the operation is made, for the diagnosis in debug builds.
  ///   - line: the line in that file.
  ///   - body: the work. Called once, with the operation, on the thread that starts it; released when it returns. Not
  ///     called if the operation is cancelled before it starts.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SimpleOperation<Value>) -> Void
  ) {
    requireValue(Value.self, of: "SimpleOperation")
    self.body = body
    #if DEBUG
    self.sourceLocation = SourceLocation(fileID: fileID, line: line)
    #endif
    super.init()
  }

  /// The work. Override it in a subclass, without calling `super`.
  ///
  /// Called by `start()`, on its thread, at most once. The default runs the body; an operation without a body succeeds
  /// if `Value` is `Void`, and else fails with ``OperationError/Code-swift.enum/missingBody``.
  open override func main() {
    // Not `take()`, which would look the closure's type up at run time.
    if let body {
      self.body = nil
      body(self)
    } else if Value.self == Void.self {
      settle(as: .success)
    } else {
      reject(with: OperationError(.missingBody, operation: self))
    }
  }

  override func discardWork() {
    body = nil
  }

  // MARK: - Settling

  /// How the operation ended; nil until it settled.
  public final var outcome: Outcome<Value>? {
    erasedOutcome?.map { $0 as! Value }
  }

  /// Settles the operation with a value.
  ///
  /// - Returns: true if this value became the outcome; false if the operation had settled before, or was cancelled, in
  ///   which case it settles as cancelled now.
  @discardableResult
  public final func finish(with value: Value) -> Bool {
    settleByHand(as: .success, value: value)
  }

  /// Settles the operation with an error. A `CancellationError` settles it as cancelled.
  ///
  /// - Returns: true if this error became the outcome; false if the operation had settled before, or was cancelled, in
  ///   which case it settles as cancelled now.
  @discardableResult
  public final func reject(with error: any Error) -> Bool {
    if error is CancellationError { return settleByHand(as: .cancelled) }
    return settleByHand(as: .failure, error: error)
  }

  /// Settles the operation with an outcome. `.cancelled` makes `isCancelled` true and calls no cancel hook.
  ///
  /// - Returns: true if this outcome became the operation's; false if the operation had settled before, or was
  ///   cancelled, in which case it settles as cancelled now.
  @discardableResult
  public final func settle(with outcome: Outcome<Value>) -> Bool {
    switch outcome {
    case .success(let value): finish(with: value)
    case .failure(let error): reject(with: error)
    case .cancelled: settleByHand(as: .cancelled)
    }
  }

  /// Settles the operation for somebody else than the composition that it may be.
  @inline(__always)
  fileprivate final func settleByHand(
    as ending: OperationState.Ending, value: (any Sendable)? = nil, error: (any Error)? = nil
  ) -> Bool {
    let isSettled = settle(as: ending, value: value, error: error)
    if isSettled, state.current.has(.composes) { wasSettledByHand() }
    return isSettled
  }

  // MARK: - Completion

  /// Called with the outcome, exactly once on every path, also when the operation is cancelled before it starts.
  ///
  /// Called on the thread that settled the operation, under no lock, when the outcome is readable and `isFinished` is
  /// not yet true; released when it returns. Set on a settled operation it is called at once, on the setting thread.
  public final var completion: (@Sendable (Outcome<Value>) -> Void)? {
    get { StripedLock.withLock(of: self) { storedCompletion } }
    set {
      var replaced: (@Sendable (Outcome<Value>) -> Void)?
      let isKept = StripedLock.withLock(of: self) {
        replaced = storedCompletion.take()
        guard let newValue else { return true }
        guard state.apply({ $0.addCompletion() }) else { return false }
        storedCompletion = newValue
        return true
      }
      withExtendedLifetime(replaced) {}
      if !isKept, let newValue, let outcome { ThreadContext.current.runUserCode { newValue(outcome) } }
    }
  }

  override func deliverCompletion() {
    let completion = StripedLock.withLock(of: self) { storedCompletion.take() }
    if let completion, let outcome { completion(outcome) }
  }
}

extension SimpleOperation where Value == Void {
  /// Settles the operation as a success.
  ///
  /// - Returns: true if this became the outcome; see ``finish(with:)``.
  @discardableResult
  public final func finish() -> Bool {
    settleByHand(as: .success)
  }
}
