import Foundation
import Synchronization

/// The common base of ``SimpleOperation`` and ``CompositeOperation``: an `Operation` that settles exactly once.
///
/// Do not subclass it directly; subclass one of the two. `main()`, `cancel()` and ``didCancel()`` are made to be
/// overridden. `start()` and the properties of the life cycle are not: the compiler refuses it, for an operation that
/// overrides them never ends.
///
/// ## Settling
///
/// The first of several attempts to settle wins, and its outcome is never changed. Then, in this order and on the
/// thread that settled: the outcome is readable; `completion` is called; `isFinished` is true and announced, which
/// tells waiters, dependents and the queue; the composite that owns the operation and awaiting tasks are told. So
/// whoever sees the operation finished knows that its completion has run.
///
/// ## Cancelling
///
/// An operation cancelled before it started settles as cancelled once it is started (a queue starts it at once) and
/// its `main` never runs. Cancelled while it executes, it goes on executing until its body settles it; whatever the
/// body gives is discarded. Cancelling a settled operation has no effect.
open class SettlingOperation: Operation, @unchecked Sendable {  // state is atomic; the rest is published through it
  let state: Atomic<OperationState>

  // Written by the one caller that wins the settling, before it publishes; read after. Type-erased, because a generic
  // field here would cost a look-up of its layout on each access. A success without a value is one with `()`.
  @exclusivity(unchecked) final var storedValue: (any Sendable)?
  @exclusivity(unchecked) final var storedError: (any Error)?
  // Guarded by the striped lock.
  @exclusivity(unchecked) final var observation: Observation?
  @exclusivity(unchecked) final var rareFields: RareFields?

  /// Makes an operation that nobody has started.
  public override init() {
    state = Atomic(OperationState())
    super.init()
  }

  init(flags: OperationState.Flags) {
    var state = OperationState()
    state.note(flags)
    self.state = Atomic(state)
    super.init()
  }

  deinit {
    if state.current.has(.hasDependencies), !isFinished { leaveDependenciesThatWereNotMet() }
    #if DEBUG
    if state.current.phase == .executing { Diagnostics.reportReleasedWhileExecuting(self, madeAt: origin) }
    #endif
  }

  /// Where the operation was made, if that is known; for diagnosis.
  var origin: SourceLocation? { nil }

  /// Says, before it is started, that the operation only waits for work that is done elsewhere: inside a composition it
  /// occupies no slot.
  package final func occupyNoSlot() { state.apply { $0.note(.needsNoSlot) } }

  /// Says that the operation is not forgotten when `main` has returned, it is cancelled, and it does not settle.
  package final func noteEndsByItself() { state.apply { $0.note(.endsByItself) } }

  // MARK: - Foundation's view

  /// True: the work may go on after `start()` returned.
  public override var isAsynchronous: Bool { true }

  /// Whether the operation was started and has not finished.
  public override var isExecuting: Bool { state.current.isExecuting }

  /// Whether the operation has settled and its completion has run.
  public override var isFinished: Bool { state.current.isFinished }

  /// Whether the operation was cancelled. Once it settled this is true exactly if the outcome is `.cancelled`.
  public override var isCancelled: Bool {
    let state = state.current
    return state.has(.cancelled) && (!state.has(.announcesCancel) || cancelWasAnnounced)
  }

  /// Whether all dependencies have finished. For queues, which read it of each operation that is added to them.
  ///
  /// On Apple platforms an operation of which it was read before the start counts as one that waits in a queue: if it is
  /// settled, its finish follows when it is started, and composites refuse it.
  public override var isReady: Bool {
    noteReadiness(super.isReady)
  }

  /// The importance of the work. Inside a composite the higher of this and the composite's counts.
  open override var qualityOfService: QualityOfService {
    get { state.current.has(.hasQualityOfService) ? super.qualityOfService : .default }
    set {
      state.apply { $0.note(.hasQualityOfService) }
      super.qualityOfService = newValue
    }
  }

  /// The type as it is shown: never one that a user has not heard of.
  package class var typeDescription: String { "\(self)" }

  /// What made the operation, where its type does not say it.
  package var form: OperationKind? { nil }

  final var formDescription: String? { form?.title }

  /// A name for errors, drawings and timelines. What a policy, ``ComposableOperation/map(_:)`` or its kind returns has
  /// the name of the operation that it was made from, until it is given another.
  open override var name: String? {
    get { state.current.has(.hasName) ? super.name : nil }
    set {
      state.apply { $0.note(.hasName) }
      super.name = newValue
    }
  }

  /// What it is, in drawings and timelines; nil for one unit of work.
  package final var shownKind: OperationKind? { composition?.kind ?? form }

  /// The name that it was given, and not one of what it was made from.
  package final var givenName: String? {
    form == nil || form == .wait ? name : state.current.has(.hasName) ? super.name : nil
  }

  /// The name, as far as it is known without asking other operations for theirs.
  var nameAtHand: String? { name }

  /// The operation whose name this one has as long as it has none, while it is known.
  var wrapped: Operation? { nil }

  /// The name of ``wrapped``, or of what that wraps.
  final var nameOfWrapped: String? {
    var next = wrapped
    // A bound, because operations may nest 100,000 deep, and this is asked for often.
    for _ in 0..<64 {
      guard let own = next as? SettlingOperation else { return next?.name }
      if let name = own.nameAtHand { return name }
      next = own.wrapped
    }
    return nil
  }

  /// Makes this operation wait for another before a queue or a composite starts it. Traps if it is this operation itself.
  open override func addDependency(_ operation: Operation) {
    require(
      operation !== self,
      "\(OperationError.describe(self)) was made to depend on itself, so it could never start. Remove this dependency.")
    state.apply { $0.note(.hasDependencies) }
    changeDependencies { super.addDependency(operation) }
  }

  /// Makes this operation wait no longer for another.
  open override func removeDependency(_ operation: Operation) {
    changeDependencies { super.removeDependency(operation) }
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

  /// Starts the operation. A queue, a composite or `run()` does it; call it yourself only if none of these does.
  ///
  /// Runs `main` on the calling thread, or settles the operation at once if it was cancelled. Does nothing if the
  /// operation was started, or has settled, before. The dependencies must have finished, unless it was cancelled.
  public override func start() {
    let announces = willStart()
    if let action = state.apply({ $0.has(.observed) ? nil : $0.start() }) {
      carryOut(action, announced: announces)
    } else {
      startObserved(announced: announces)
    }
  }

  /// Settles an operation that was cancelled before it started. Compositions see to their children first.
  func unwind() {
    discardWork()
    settle(as: .cancelled)
  }

  /// What the operation fails with if it is not run because of an error of its use.
  func failure(unrunBecauseOf error: OperationError) -> any Error { error }

  /// Gives up what only `main` needs, of an operation whose `main` will never run.
  func discardWork() {}

  /// Calls the completion, of which there is one, and releases it. On the thread that settled, under no lock.
  func deliverCompletion() {}

  // MARK: - Cancel

  /// Cancels the operation. See the class for what that does; may be called at any moment from any thread.
  ///
  /// When it returns, either `isCancelled` is true or the outcome, which came first, is readable.
  open override func cancel() {
    var onCancel: (@Sendable () -> Void)?
    var whenDecided: (@Sendable () -> Void)?
    var hub: (any EventSink)?
    let isObservedByKey = isObservedByKey
    let announces = isObservedByKey && state.current.phase == .executing && willCancel()
    // The hook is taken together with the decision to call it, for the operation may settle, which releases it, at any
    // moment from then on.
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
      ThreadContext.current.runUserCode {
        didCancel()
        onCancel?()
      }
      propagateCancel()
      #if DEBUG
      if state.apply({ $0.beginWatch() }) { HangWatch.current.watch(self) }
      #endif
    case .ignore:
      if announces { announceCancel() }
      // The one that was first has not come to announcing it.
      if !isCancelled, state.current.has(.announcesCancel) { tellFoundation { super.cancel() } }
      awaitPublication()
    }
  }

  /// Override point: stop the underlying work.
  ///
  /// Called exactly once if the operation is cancelled while it executes, on the thread that cancelled it, under no
  /// lock; `main` may still be running. It should make the work settle the operation soon; whatever it settles with
  /// is discarded, for the outcome is `.cancelled`. The default does nothing. Not called by `settle(with: .cancelled)`.
  open func didCancel() {}

  /// Cancels the children, in compositions.
  func propagateCancel() {}

  /// Other code than the operation's source has settled it. Called after the completion, and before parents and observers
  /// are told.
  func wasSettledByHand() {}

  /// Called when the operation is cancelled while it executes: ``didCancel()`` for operations made from a closure.
  ///
  /// Called at most once, after `didCancel()`, and released by then or when the operation settles. Set while the
  /// operation is already cancelled and executing, it is called at once, on the setting thread.
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
      if action == .call, let newValue { ThreadContext.current.runUserCode { newValue() } }
    }
  }

  // MARK: - Compositions

  /// What runs the children, in compositions.
  package var composition: Composition? { nil }
}

extension SettlingOperation: DescribedOperation {}
