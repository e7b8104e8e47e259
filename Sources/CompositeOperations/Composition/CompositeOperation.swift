import Foundation

/// An operation that runs other operations, in parallel or one after the other.
///
/// A composite is an operation like any other. It settles once, with the values of its children or
/// their errors; it nests in other composites; it runs on any `OperationQueue`. Its children may be
/// of any `Operation` type.
///
/// ```swift
/// let thumbnails = CompositeOperation {
///   for photo in photos { MakeThumbnail(photo) }
/// }
/// let report = CompositeOperation(sequence: LinearSequence(
///   { _ in thumbnails },
///   { previous in WriteIndex(previous?.result(as: [any Sendable].self) ?? []) }))
/// queue.addOperation(report)
/// ```
///
/// ## Where children run
///
/// Without a queue, children run on worker threads of Dispatch at the quality of service of the
/// composite. With an `operationQueue`, they run in slots of that queue: on the main thread for
/// `OperationQueue.main`. A composite occupies no slot while its children run, so composites that
/// share a queue never wait for each other and never exceed its limit. A composite without a queue
/// of its own runs its children where its parent composite does.
///
/// `start()` returns before any child runs. Nothing here blocks a thread.
///
/// ## Children
///
/// A composite starts each of its children once: give it operations that were not started or added
/// to a queue elsewhere. When it settles, all its children have finished; those that it did not run
/// are cancelled.
///
/// ## Cancelling
///
/// Cancelling a composite cancels the children that run; the others never run. The composite
/// settles as cancelled when all have finished.
open class CompositeOperation: SettlingOperation, ComposableOperation, @unchecked Sendable {  // see the superclass
  /// The values of the children that succeeded, in child order. The value of a plain operation is
  /// `()`.
  public typealias Value = [any Sendable]

  private final let work: Composition
  private final let operationQueue: OperationQueue?
  // Guarded by the striped lock.
  private final var storedCompletion: (@Sendable (Outcome<Value>) -> Void)?

  /// Makes a composite that runs its operations in parallel.
  ///
  /// It succeeds when all have succeeded. When one fails, ``failurePolicy`` decides about the
  /// others. When other code cancels a child, the composite and the other children are cancelled
  /// too. (A plain child that waits for its dependencies does not tell of its cancel: it counts
  /// when these have finished. Cancel the composite.)
  ///
  /// - Parameters:
  ///   - operations: the children. They start by `queuePriority` and then in this order, thousands
  ///     of them in groups of sixteen; a child with dependencies starts when these have finished.
  ///     With a queue, compositions (composites, and what `then`, `timeout` and the like return)
  ///     wait neither for a slot nor, without a ``maxConcurrentOperationCount``, for the leaves
  ///     before them that need one, whatever the priorities. With such a limit, room is left for
  ///     the leaves that come before them.
  ///   - operationQueue: where the children run; nil for where those of the parent composite run,
  ///     or for worker threads.
  public init(operations: [Operation], operationQueue: OperationQueue? = nil) {
    self.work = ParallelForm(operations)
    self.operationQueue = operationQueue
    super.init(flags: [.needsNoSlot, .beginsInMain])
  }

  /// Makes a composite that runs one operation after the other, chosen by a delegate.
  ///
  /// - Parameters:
  ///   - sequence: the delegate. Each composite has its own copy of a delegate that is a value.
  ///   - operationQueue: where the children run and the delegate is called; nil for where the
  ///     children of the parent composite run, or for worker threads.
  public init(sequence: sending any Sequence, operationQueue: OperationQueue? = nil) {
    self.work = SequenceForm(sequence)
    self.operationQueue = operationQueue
    super.init(flags: [.needsNoSlot, .beginsInMain])
  }

  /// Makes a composite that runs one operation after the other, chosen by a closure.
  ///
  /// ```swift
  /// let report = CompositeOperation { previous in
  ///   switch previous {
  ///   case nil: FetchUser(id: 7)
  ///   case let fetch as FetchUser: fetch.result.map { WriteReport(on: $0) }
  ///   default: nil
  ///   }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - nextOperation: called like `nextOperation(after:)` of a ``Sequence``: with nil, then with
  ///     each operation that has finished, one call at a time; returns the next operation, or nil.
  ///     It may keep state in captured variables that nothing else uses. Released after its last
  ///     call.
  ///   - operationQueue: where the children run and the closure is called; nil for where the
  ///     children of the parent composite run, or for worker threads.
  public convenience init(
    sequence nextOperation: sending @escaping (_ previous: Operation?) throws -> Operation?,
    operationQueue: OperationQueue? = nil
  ) {
    self.init(sequence: ClosureDelegate(next: nextOperation), operationQueue: operationQueue)
  }

  /// Makes a composite that runs in parallel the operations that the closure lists.
  ///
  /// - Parameter operations: lists the children; called before this returns. `if`, `switch` and
  ///   `for` can be used.
  public convenience init(@OperationBuilder _ operations: () -> [Operation]) {
    self.init(operations: operations())
  }

  deinit {
    guard let sequential else { return }
    discardOutcome()
    sequential.releaseRecords()
  }

  // MARK: - Running

  /// Has a composite that runs its children in parallel await those that other code starts, and not
  /// cancel them, instead of failing with ``OperationError``. Called before it starts.
  package final func awaitChildrenOfOthers() {
    parallel?.traits.insert(.joins)
  }

  /// Begins to run the children. An override can prepare something, and calls `super.main()` last,
  /// on every path: that also settles a composite that was cancelled meanwhile. Traps if it is
  /// called twice.
  open override func main() {
    let isFirst = state.apply { state in
      defer { state.note(.endsByItself) }
      return !state.has(.endsByItself)
    }
    require(
      isFirst,
      "super.main() of \(OperationError.describe(self)) was called twice, but a composite begins once. Call it once, as the "
        + "last statement of main().")
    work.begin(for: self, in: operationQueue)
  }

  override final func unwind() {
    work.unwind(for: self, in: operationQueue)
  }

  override final func discardWork() {
    work.unwind()
  }

  override final func failure(unrunBecauseOf error: OperationError) -> any Error {
    // The error belongs to no child, so it comes after theirs, like one that a delegate throws.
    let children = operations
    return CompositeError(
      failures: [CompositeError.Failure(index: children.count, operationName: nil, error: error)],
      outcomes: children.map { $0.anyOutcome ?? .cancelled }, of: name)
  }

  override final func propagateCancel() {
    work.cancel()
  }

  package override final var compositionBase: CompositionBase? { work }

  private final var parallel: ParallelForm? { work as? ParallelForm }

  private final var sequential: SequenceForm? { work as? SequenceForm }

  // MARK: - Outcome

  /// The outcome of the composite; nil until it settles.
  ///
  /// A failure is always a ``CompositeError``.
  public final var outcome: Outcome<[any Sendable]>? {
    erasedOutcome?.map { $0 as! [any Sendable] }
  }

  /// The values of the children that succeeded, in child order, whatever the composite's outcome.
  /// Until it settles, those of the children that have finished so far. The value of a plain
  /// operation is `()`.
  ///
  /// There may be fewer values than children: ``childOutcomes`` has an element for each.
  public final var results: [any Sendable] {
    if let result { return result }
    return childOutcomes.compactMap { $0?.value }
  }

  /// The errors of the children that failed, in child order, whatever the composite's outcome.
  /// Until it settles, those of the children that have finished so far. An error that a sequence
  /// delegate threw comes last.
  ///
  /// The `error` of a failed composite is a ``CompositeError``, which tells the child of each
  /// error.
  public final var errors: [any Error] {
    if let error = error as? CompositeError { return error.failures.map(\.error) }
    return childOutcomes.compactMap { $0?.error }
  }

  /// The outcome of each child, in child order; nil for a child that has not finished. Contains no
  /// nil once the composite has settled.
  ///
  /// For a sequence these are the children so far.
  public final var childOutcomes: [Outcome<any Sendable>?] {
    if let error = error as? CompositeError { return error.outcomes }
    if let sequential { return sequential.outcomes }
    // A refused child may stay unfinished: it does not belong to the composite.
    let isSettled = outcome != nil
    return operations.map { $0.anyOutcome ?? (isSettled ? .cancelled : nil) }
  }

  /// The children of a parallel composite; the current child of a sequence.
  public final var operations: [Operation] {
    parallel?.children ?? sequential?.currentChildren.contents ?? []
  }

  // MARK: - Options

  /// What happens to the other children when one fails; `.cancelRemaining` by default.
  ///
  /// Setting it after the composite started traps. It has no effect on a sequence, whose delegate
  /// decides.
  public final var failurePolicy: FailurePolicy {
    get {
      parallel?.table.withLock { $0.endings.policy } == .waitForAll ? .waitForAll : .cancelRemaining
    }
    set {
      require(
        state.current.phase == .pending,
        "failurePolicy of \(OperationError.describe(self)) was set after the composite started. Set it before.")
      parallel?.table.withLock { $0.endings.policy = newValue == .waitForAll ? .waitForAll : .cancelRemaining }
    }
  }

  /// How many children may be unfinished at the same time, asynchronous work included; unlimited by
  /// default.
  ///
  /// Can be changed at any time; a change applies from the next child on. It must be positive, or
  /// `OperationQueue.defaultMaxConcurrentOperationCount`, which means unlimited; anything else
  /// traps. A sequence runs one child at a time whatever the limit.
  public final var maxConcurrentOperationCount: Int {
    get {
      guard let width = parallel?.width, width < Int.max else {
        return OperationQueue.defaultMaxConcurrentOperationCount
      }
      return width
    }
    set {
      let width = requireWidth(
        newValue, of: "maxConcurrentOperationCount of \(OperationError.describe(self))",
        remedy: " To hold children back set isSuspended.")
      parallel?.width = width
    }
  }

  /// While true, no further child starts; those that run continue.
  public final var isSuspended: Bool {
    get { work.isSuspended }
    set { work.isSuspended = newValue }
  }

  // MARK: - Completion

  /// A closure called with the outcome, exactly once, also when the composite is cancelled before
  /// it starts.
  ///
  /// Called on the thread that settled the composite (the one on which its last child finished, or
  /// that cancelled it), under no lock. The outcome is readable by then, and `isFinished` is not
  /// yet true. Released when it returns. If set on a settled composite, it is called at once, on
  /// the setting thread.
  public final var completion: (@Sendable (Outcome<[any Sendable]>) -> Void)? {
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

  override final func deliverCompletion() {
    let completion = StripedLock.withLock(of: self) { storedCompletion.take() }
    if let completion, let outcome { completion(outcome) }
  }
}

/// Converts a limit to a width, and traps if it is invalid.
///
/// - Parameters:
///   - name: the property that was set, and its owner.
///   - remedy: advice to add to the trap message.
package func requireWidth(_ count: Int, of name: @autoclosure () -> String, remedy: StaticString = "") -> Int {
  if count == OperationQueue.defaultMaxConcurrentOperationCount { return Int.max }
  require(
    count > 0,
    "\(name()) was set to \(count). Use a positive number, or OperationQueue.defaultMaxConcurrentOperationCount for no "
      + "limit.\(remedy)")
  return count
}
