import Foundation

/// An operation for one unit of work, which settles once: with a value, an error, or as cancelled.
///
/// For work that ends when a function returns, pass a closure that returns the value or throws, or
/// override ``perform()`` in a subclass:
///
/// ```swift
/// let load = SimpleOperation { try Data(contentsOf: url) }
///
/// final class Load: SimpleOperation<Data>, @unchecked Sendable {
///   override func perform() throws -> Data { try Data(contentsOf: url) }
/// }
/// ```
///
/// For work that calls back later, pass a closure that takes the operation, or override ``main()``
/// in a subclass. It ends with the first call of ``finish(with:)``, ``reject(with:)`` or
/// ``settle(with:)-(Outcome<Value>)``, on any thread:
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
/// See ``SettlingOperation`` for the order of events and the effect of cancelling.
///
/// ## Settling on every path
///
/// Such a closure, or `main()`, must settle the operation on every path. Returning does not finish
/// the operation: `guard !isCancelled else { return }` is right in a synchronous `Operation`, and
/// hangs this one. In debug builds, an operation whose `main()` has returned and that has not
/// settled a few seconds after a cancel is reported on standard error.
///
/// The code that can still settle an operation must keep it alive, as the closures above do. In
/// debug builds, an operation that is released while it executes is reported on standard error.
open class SimpleOperation<Value: Sendable>:
  SettlingOperation, ComposableOperation, @unchecked Sendable  // see the fields
{
  private enum Body {
    case settling(@Sendable (SimpleOperation<Value>) -> Void)
    case returning(@Sendable () throws -> Value)
  }

  // Used only by the caller that starts the operation or settles it unstarted.
  @exclusivity(unchecked) private final var body: Body?
  // Guarded by the striped lock.
  @exclusivity(unchecked) private final var storedCompletion: (@Sendable (Outcome<Value>) -> Void)?
  #if DEBUG
  private final var sourceLocation: SourceLocation?
  override final var origin: SourceLocation? { sourceLocation }
  #endif

  deinit {
    // Of an operation that never ran: it may hold another one, and so on.
    if body != nil { ReleaseList.release(&body) }
  }

  /// Makes an operation whose subclass overrides ``perform()`` or ``main()``.
  public override init() {
    super.init()
  }

  override init(flags: OperationState.Flags) {
    super.init(flags: flags)
  }

  /// Makes an operation whose work is a closure that settles it, at once or later.
  ///
  /// The closure must settle the operation on every path, also when the operation was cancelled.
  /// For work that ends when the closure returns, use the initializer whose closure takes nothing
  /// and returns the value.
  ///
  /// Traps if `Value` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - fileID: the file that makes the operation, for diagnosis in debug builds.
  ///   - line: the line in that file.
  ///   - body: the work. Called once, with the operation, on the thread that starts it; released
  ///     when it returns. Not called if the operation is cancelled before it starts.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SimpleOperation<Value>) -> Void
  ) {
    requireValue(Value.self, of: "SimpleOperation")
    self.body = .settling(body)
    #if DEBUG
    self.sourceLocation = SourceLocation(fileID: fileID, line: line)
    #endif
    super.init()
  }

  /// Makes an operation whose work is a closure that returns the value, or throws.
  ///
  /// ```swift
  /// let load = SimpleOperation { try Data(contentsOf: url) }
  /// ```
  ///
  /// The operation settles when the closure returns. A thrown error is its failure; a
  /// `CancellationError` settles it as cancelled. If the operation is cancelled while the closure
  /// runs, the value or error is discarded, and it settles as cancelled.
  ///
  /// Traps if `Value` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - fileID: the file that makes the operation, for diagnosis in debug builds.
  ///   - line: the line in that file.
  ///   - body: the work. Called once, on the thread that starts the operation; released when it
  ///     returns. Not called if the operation is cancelled before it starts.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable () throws -> Value
  ) {
    requireValue(Value.self, of: "SimpleOperation")
    self.body = .returning(body)
    #if DEBUG
    self.sourceLocation = SourceLocation(fileID: fileID, line: line)
    #endif
    super.init()
  }

  /// Does the work. Override it in a subclass, without calling `super`, for work that continues
  /// after it returns; override ``perform()`` for work that does not.
  ///
  /// `start()` calls it at most once, on its thread, and not if the operation was cancelled before.
  /// An override must settle the operation on every path, at once or later, also if the operation
  /// is cancelled. The default runs the closure that the operation was made from, or else
  /// ``perform()``.
  open override func main() {
    // Not `take()`, which would look up the closure's type at run time.
    guard let body else { return settle(performing: perform) }
    self.body = nil
    switch body {
    case .settling(let body): body(self)
    case .returning(let body): settle(performing: body)
    }
  }

  /// Does the work, and returns the value or throws. Override it in a subclass, without calling
  /// `super`.
  ///
  /// ```swift
  /// final class CountWords: SimpleOperation<Int>, @unchecked Sendable {
  ///   private let url: URL
  ///   init(in url: URL) {
  ///     self.url = url
  ///     super.init()
  ///   }
  ///   override func perform() throws -> Int { try String(contentsOf: url, encoding: .utf8).split(separator: " ").count }
  /// }
  /// ```
  ///
  /// The default ``main()`` of an operation that was not made from a closure calls it at most once,
  /// on the thread that starts the operation, and not if the operation was cancelled before. The
  /// operation settles when this returns. A thrown error is its failure; a `CancellationError`
  /// settles it as cancelled. If the operation is cancelled meanwhile, the value or error is
  /// discarded, and it settles as cancelled; long work may check `isCancelled` and throw
  /// `CancellationError` to end early.
  ///
  /// The default succeeds if `Value` is `Void`.
  ///
  /// - Returns: the operation's value.
  /// - Throws: the operation's error. The default throws ``OperationError`` with the code
  ///   `missingBody`, unless `Value` is `Void`.
  open func perform() throws -> Value {
    guard Value.self == Void.self else { throw OperationError(.missingBody, operation: self) }
    return () as! Value
  }

  @inline(__always)
  private final func settle(performing work: () throws -> Value) {
    do { finish(with: try work()) } catch { reject(with: error) }
  }

  override func discardWork() {
    body = nil
  }

  // MARK: - Settling

  /// The outcome of the operation; nil until it settles.
  public final var outcome: Outcome<Value>? {
    erasedOutcome?.map { $0 as! Value }
  }

  /// Settles the operation with a value.
  ///
  /// - Returns: true if this value became the outcome; false if the operation had settled before,
  ///   or was cancelled: then it settles as cancelled now.
  @discardableResult
  public final func finish(with value: Value) -> Bool {
    settle(value: value, byHand: true)
  }

  /// Settles the operation with an error. A `CancellationError` settles it as cancelled.
  ///
  /// - Returns: true if this error became the outcome; false if the operation had settled before,
  ///   or was cancelled: then it settles as cancelled now.
  @discardableResult
  public final func reject(with error: any Error) -> Bool {
    if error is CancellationError { return settle(as: .cancelled, byHand: true) }
    return settle(as: .failure, error: error, byHand: true)
  }

  /// Settles the operation with an outcome. `.cancelled` makes `isCancelled` true and calls no
  /// cancel hook.
  ///
  /// - Returns: true if this outcome became the operation's; false if the operation had settled
  ///   before, or was cancelled: then it settles as cancelled now.
  @discardableResult
  public final func settle(with outcome: Outcome<Value>) -> Bool {
    switch outcome {
    case .success(let value): finish(with: value)
    case .failure(let error): reject(with: error)
    case .cancelled: settle(as: .cancelled, byHand: true)
    }
  }

  // Disfavoured, for `settle(with: .success(1))` and `settle(with: .failure(error))` would fit both
  // forms.

  /// Settles the operation with a result. A `CancellationError` settles it as cancelled.
  ///
  /// ```swift
  /// let fetch = SimpleOperation<Reply> { operation in
  ///   client.send(request) { operation.settle(with: $0) }  // calls back with a Result<Reply, ClientError>
  /// }
  /// ```
  ///
  /// - Returns: true if this result became the outcome; false if the operation had settled before,
  ///   or was cancelled: then it settles as cancelled now.
  @_disfavoredOverload
  @discardableResult
  public final func settle<Failure: Error>(with result: Result<Value, Failure>) -> Bool {
    settle(with: Outcome(result))
  }

  // MARK: - Completion

  /// A closure called with the outcome, exactly once, also when the operation is cancelled before
  /// it starts.
  ///
  /// Called on the thread that settled the operation, under no lock. The outcome is readable by
  /// then, and `isFinished` is not yet true. Released when it returns. If set on a settled
  /// operation, it is called at once, on the setting thread.
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
      if !isKept, let newValue, let outcome { runUserCode { newValue(outcome) } }
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
    settle(as: .success, byHand: true)
  }
}

extension SimpleOperation {
  /// Not there: say `finish(with:)`. Without this the compiler says of a body that it was to take
  /// no argument.
  @available(*, unavailable, message: "Say finish(with:) and the value.")
  @discardableResult
  public final func finish() -> Bool { fatalError() }
}
