import Foundation
import Synchronization

/// The common base of ``SimpleOperation`` and ``CompositeOperation``: an `Operation` that settles
/// exactly once.
///
/// Do not subclass it directly; subclass one of the two. Subclasses can override `main()`,
/// `cancel()` and ``didCancel()``. The compiler rejects overrides of `start()` and the life-cycle
/// properties, with which an operation would never end.
///
/// ## Settling
///
/// The first of several attempts to settle wins, and its outcome never changes. Then, in this order
/// and on the thread that settled: the outcome becomes readable; `completion` is called;
/// `isFinished` becomes true and is announced, which notifies waiters, dependents and the queue;
/// the parent composite and awaiting tasks continue. So when `isFinished` is true, the completion
/// has run.
///
/// ## Cancelling
///
/// An operation cancelled before it started settles as cancelled once it is started, and its `main`
/// never runs. A queue or a composite starts it when it has a place for it and is not suspended,
/// without waiting for its dependencies. An operation cancelled while it executes continues until
/// its body settles it; the body's value or error is discarded. Cancelling a settled operation has
/// no effect.
open class SettlingOperation: Operation, @unchecked Sendable {  // state is atomic; the rest is published through it
  let state: Atomic<OperationState>

  // Written by the caller that wins the settling, before it publishes; read after. Type-erased,
  // because each access to a generic field would look up its layout. Not optional, because the
  // compiler copies optionals of that type by way of tables.
  @exclusivity(unchecked) final var storedValue: any Sendable = ()  // that of a success without one
  @exclusivity(unchecked) final var storedError: (any Error)?
  // Guarded by the striped lock.
  @exclusivity(unchecked) final var observation: Observation?
  /// The task-local values, ``RareFields``, or both.
  @exclusivity(unchecked) final var extras: ContextHolder?

  /// Makes an operation.
  public override init() {
    state = Atomic(OperationState())
    if OperationContext.isUsed { extras = OperationContext.capture() }
    super.init()
  }

  init(flags: OperationState.Flags) {
    var state = OperationState()
    state.note(flags)
    self.state = Atomic(state)
    if OperationContext.isUsed { extras = OperationContext.capture() }
    super.init()
  }

  deinit {
    #if !canImport(Darwin)
    // A dependency would follow its pointer to this operation.
    if state.current.has(.hasDependencies) { releaseDependencies() }
    #endif
    if let progress = rareFields?.progress, !state.current.isSettled { progress.ownerWasReleased() }
    #if DEBUG
    if state.current.phase == .executing { Diagnostics.reportReleasedWhileExecuting(self, madeAt: origin) }
    #endif
  }

  /// The place in the source where the operation was made, if known; for diagnosis.
  var origin: SourceLocation? { nil }

  /// Declares, before the start, that the operation only waits for work done elsewhere: inside a
  /// composition it occupies no slot.
  package final func occupyNoSlot() { state.apply { $0.note(.needsNoSlot) } }

  /// Declares that the operation always settles by itself, so that ``HangWatch`` does not watch it.
  package final func noteEndsByItself() { state.apply { $0.note(.endsByItself) } }

  // MARK: - Foundation's view

  /// True: the work may continue after `start()` returned.
  public override var isAsynchronous: Bool { true }

  /// Whether the operation was started and has not finished.
  public override var isExecuting: Bool { state.current.isExecuting }

  /// Whether the operation has settled and its completion has run.
  public override var isFinished: Bool { state.current.isFinished }

  /// Whether the operation was cancelled. Once it settled this is true exactly if the outcome is
  /// `.cancelled`.
  public override var isCancelled: Bool {
    let state = state.current
    return state.has(.cancelled) && (!state.has(.announcesCancel) || cancelWasAnnounced)
  }

  /// Whether all dependencies have finished. Queues read it of each operation that is added to
  /// them. Also true of a composition that depends on an operation inside it: it fails when it
  /// starts.
  ///
  /// On Apple platforms, reading it before the start makes the operation count as waiting in a
  /// queue: if it settles, it finishes when it is started, and composites reject it.
  public override var isReady: Bool {
    #if !canImport(Darwin)
    if state.current.has(.entersQueue), ThreadContext.current.entering === self { return noteReadiness(false) }
    #endif
    return noteReadiness(super.isReady || state.current.isFinished || awaitsItself)
  }

  /// Whether the operation has a dependency that only itself would start. Started, it fails.
  private var awaitsItself: Bool {
    state.current.phase == .pending && ThreadContext.current.told !== self
      && compositionBase?.content(awaitedBy: self) != nil
  }

  /// The importance of the work. Inside a composition without a queue, the higher of this, if it
  /// was set, and the composition's is used.
  open override var qualityOfService: QualityOfService {
    get { state.current.has(.hasQualityOfService) ? super.qualityOfService : .default }
    set {
      state.apply { $0.note(.hasQualityOfService) }
      super.qualityOfService = newValue
    }
  }

  /// The type for descriptions: never one that users do not know.
  package class var typeDescription: String { "\(self)" }

  /// The kind of operation, if its type does not tell.
  package var form: OperationKind? { nil }

  final var formDescription: String? { form?.rawValue }

  /// A name for errors, drawings and timelines. An operation that a policy,
  /// ``ComposableOperation/map(_:)`` or a similar method returns has the name of the wrapped
  /// operation until it is given another.
  open override var name: String? {
    get { state.current.has(.hasName) ? super.name : nil }
    set {
      state.apply { $0.note(.hasName) }
      super.name = newValue
    }
  }

  /// The kind for drawings and timelines; nil for one unit of work.
  package final var shownKind: OperationKind? { compositionBase?.kind ?? form }

  /// The operation's own name, not that of a wrapped one.
  package final var givenName: String? {
    form == nil || form == .wait ? name : state.current.has(.hasName) ? super.name : nil
  }

  /// The name, as far as it is known without reading those of other operations.
  var nameAtHand: String? { name }

  /// The operation whose name this one uses if it has none, while it is known.
  var wrapped: Operation? { nil }

  /// The name of ``wrapped``, or of what that wraps.
  final var nameOfWrapped: String? {
    var next = wrapped
    // Bounded, because operations may nest 100,000 deep, and this is read often.
    for _ in 0..<64 {
      guard let own = next as? SettlingOperation else { return next?.name }
      if let name = own.nameAtHand { return name }
      next = own.wrapped
    }
    return nil
  }

  /// Makes this operation wait for another before a queue or a composite starts it. Traps if it is
  /// this operation itself.
  ///
  /// When an operation that depends on this one has finished, this one releases its dependencies.
  /// So a chain in which you keep the last operation does not keep the others.
  open override func addDependency(_ operation: Operation) {
    require(
      operation !== self,
      "\(OperationError.describe(self)) was made to depend on itself, so it could never start. Remove this dependency.")
    state.apply { $0.note(.hasDependencies) }
    #if !canImport(Darwin)
    (operation as? SettlingOperation)?.state.apply { $0.note(.hasDependents) }
    #endif
    changeDependencies { super.addDependency(operation) }
    if state.current.has(.searched) { Self.additionsAfterSearches.add(1, ordering: .acquiringAndReleasing) }
  }

  /// How often a dependency was added to an operation that a search for circles had visited.
  static let additionsAfterSearches = Atomic(0)

  /// Removes another operation from those that this one waits for. If it was the last one that has
  /// not finished, what waits in a composite or in `run()` starts when its turn comes.
  open override func removeDependency(_ operation: Operation) {
    changeDependencies { super.removeDependency(operation) }
    state.apply { $0.note(.lostDependency) }
    guard state.current.phase == .pending, awaitsNothingMore else { return }
    StripedLock.withLock(of: self) { rareFields?.whenNothingIsAwaited.take() }?()
  }

  /// The type, the name if there is one, the state and the outcome.
  open override var description: String {
    let state = state.current
    var text = "<\(Self.typeDescription)"
    if let name, !name.isEmpty { text += " “\(name)”" }
    text += ": \(state.phase >= .settled ? "settled" : "\(state.phase)")"
    if state.phase < .settled, state.has(.cancelled) { text += ", cancelled" }
    if let outcome = erasedOutcome { text += ", \(outcome)" }
    return text + ">"
  }

  // MARK: - Start

  /// Starts the operation. A queue, a composite or `run()` calls it; call it yourself only without
  /// one of these.
  ///
  /// Runs `main` on the calling thread, or settles the operation at once if it was cancelled. Does
  /// nothing if the operation was started or has settled before. Traps if a dependency has not
  /// finished, unless the operation was cancelled.
  public override func start() {
    start(byOwner: false) {}
  }

  /// Starts the operation, unless it was started or has settled.
  ///
  /// - Parameters:
  ///   - byOwner: whether the caller has adopted the operation, and is not a queue. If a queue
  ///     holds the operation as well, it finishes when the queue has started it, too.
  ///   - prepare: called if this is the call that starts it, before anything else.
  func start(byOwner: Bool, prepare: () -> Void) {
    let announces = willStart()
    if let action = state.apply({ $0.has(.observed) ? nil : $0.start(byOwner: byOwner) }) {
      carryOut(action, announced: announces, prepare)
    } else {
      startObserved(byOwner: byOwner, announced: announces, prepare)
    }
  }

  /// Settles an operation that was cancelled before it started. Compositions settle their children
  /// first.
  func unwind() {
    discardWork()
    if state.current.has(.needsNoSlot), let self = self as? any UnwindingLater { return self.unwindLater() }
    settle(as: .cancelled)
  }

  /// The error of an operation that is not run because it was misused.
  func failure(unrunBecauseOf error: OperationError) -> any Error { error }

  /// Releases what only `main` needs, when it will never run.
  func discardWork() {}

  /// Calls the completion and releases it, on the thread that settled, under no lock.
  func deliverCompletion() {}

  // MARK: - Cancel

  /// Cancels the operation, as the class describes. May be called at any time, on any thread.
  ///
  /// When it returns, `isCancelled` is true, or an outcome that came first is readable.
  open override func cancel() {
    var onCancel: (@Sendable () -> Void)?
    var whenDecided: (@Sendable () -> Void)?
    var hub: (any EventSink)?
    let isObservedByKey = isObservedByKey
    let announces = isObservedByKey && state.current.phase == .executing && willCancel()
    // The hook is taken together with the decision to call it: from then on the operation may
    // settle, which releases the hook.
    let action = StripedLock.withLock(of: self) {
      let action = state.apply { $0.cancel(announcing: isObservedByKey) }
      switch action {
      case .mark: whenDecided = rareFields?.whenDecidedUnstarted.take()
      case .callHooks: onCancel = rareFields?.onCancel.take()
      case .ignore: return action
      }
      hub = rareFields?.hub?.posting(.cancelled)
      return action
    }
    switch action {
    case .mark:
      tellFoundation { super.cancel() }
      hub?.deliver()
      whenDecided?()
    case .callHooks:
      // Foundation would announce it once more.
      if announces { announceCancel() } else { super.cancel() }
      hub?.deliver()
      runUserCode {
        didCancel()
        onCancel?()
      }
      propagateCancel()
      #if DEBUG
      if state.apply({ $0.beginWatch() }) { HangWatch.current.watch(self) }
      #endif
    case .ignore:
      if announces { announceCancel() }
      // The first caller has not announced it yet.
      if !isCancelled, state.current.has(.announcesCancel) { tellFoundation { super.cancel() } }
      awaitPublication()
    }
  }

  /// Stops the underlying work; to be overridden.
  ///
  /// Called exactly once if the operation is cancelled while it executes, on the thread that
  /// cancelled it, under no lock; `main` may still be running. An override should make the work
  /// settle the operation soon; the outcome is `.cancelled`, whatever it settles with. The default
  /// does nothing. Not called by `settle(with: .cancelled)`.
  open func didCancel() {}

  /// Cancels the children, in compositions.
  func propagateCancel() {}

  /// Called when code other than the operation's source has settled it: after the completion,
  /// before parents and observers.
  func wasSettledByHand() {}

  /// A closure called when the operation is cancelled while it executes; like ``didCancel()``, for
  /// operations made from a closure.
  ///
  /// Called at most once, after `didCancel()`, and released then or when the operation settles. If
  /// set while the operation is cancelled and executing, it is called at once, on the setting
  /// thread.
  public final var onCancel: (@Sendable () -> Void)? {
    get { StripedLock.withLock(of: self) { rareFields?.onCancel } }
    set {
      var replaced: (@Sendable () -> Void)?
      let action = StripedLock.withLock(of: self) {
        replaced = rareFields?.onCancel.take()
        let action = state.apply { $0.addCancelHook() }
        if action == .keep, let newValue { makeRareFields().onCancel = newValue }
        return action
      }
      withExtendedLifetime(replaced) {}
      if action == .call, let newValue { runUserCode { newValue() } }
    }
  }

  // MARK: - Compositions

  /// The composition that this operation runs, if it is one.
  package var compositionBase: CompositionBase? { nil }
}

extension SettlingOperation: DescribedOperation {}

// A cast with `as?` retains the operation and releases it, which costs each child a few nanoseconds
// at each step of its way.
extension Operation {
  /// Whether this is an operation of the package, so that ``asOwn`` can be used.
  @inline(__always) final var isOwn: Bool { self is SettlingOperation }

  /// This operation, of which the caller knows that it is one of the package's.
  @inline(__always) final var asOwn: SettlingOperation { unsafeDowncast(self, to: SettlingOperation.self) }
}

/// An operation in another module that occupies no slot and that, cancelled before it started,
/// first waits for the work that it stands for.
package protocol UnwindingLater: SettlingOperation {
  /// Called once, under no lock, when the operation was cancelled and then started. Settles it as
  /// cancelled, at once or later.
  func unwindLater()
}

/// An operation in another module that is told when it has settled and cannot finish yet.
package protocol FinishingLater: SettlingOperation {
  /// Called once, under no lock, when the operation has settled while it waits in a queue: it
  /// finishes, and its observers are notified, when that queue starts it. May come after that.
  func finishWasDeferred()
}
