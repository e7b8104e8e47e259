import Synchronization

/// The life of one operation, as a state machine in one word.
///
/// ```
/// pending ──start──▶ executing ──settle──▶ settling ──publish──▶ settled ──finish──▶ finished ──announce──▶ announced
///    └───────────────────settle───────────────▲
/// ```
///
/// - *settling*: one caller has won; it is storing the outcome.
/// - *settled*: the outcome is readable, the completion runs.
/// - *finished*: `isFinished` is true and is being told to Foundation.
/// - *announced*: Foundation knows; compositions and awaiting tasks are told next.
///
/// Every input is a mutating function that returns what its caller has to do. The word lives in an `Atomic`, so a
/// simple operation needs no lock of its own.
struct OperationState: RawRepresentable, Equatable, Sendable, AtomicRepresentable {
  var rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }
  init() { self.rawValue = 0 }

  enum Phase: UInt32, Comparable, CaseIterable {
    case pending, executing, settling, settled, finished, announced

    static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  enum Ending: UInt32, CaseIterable {
    case none, success, failure, cancelled
  }

  private(set) var phase: Phase {
    get { Phase(rawValue: rawValue & 0b111)! }
    set { rawValue = rawValue & ~0b111 | newValue.rawValue }
  }

  /// How the operation ended; `none` before it is settling.
  private(set) var ending: Ending {
    get { Ending(rawValue: rawValue >> 3 & 0b11)! }
    set { rawValue = rawValue & ~0b11000 | newValue.rawValue << 3 }
  }

  /// What is known besides the phase.
  struct Flags: OptionSet, Sendable {
    var rawValue: UInt32
    /// It was cancelled: from outside, or by settling so.
    static let cancelled = Flags(rawValue: 1 << 8)
    /// `start()` was called and did not return at once.
    static let started = Flags(rawValue: 1 << 9)
    /// The caller that settles it calls `deliverCompletion()` before it finishes: there is a completion, or it is a
    /// delay.
    static let isToldWhenSettled = Flags(rawValue: 1 << 10)
    /// There are observers or a cancel hook to tell or release once the finish is announced.
    static let hasListeners = Flags(rawValue: 1 << 11)
    /// `addDependency` was called.
    static let hasDependencies = Flags(rawValue: 1 << 12)
    /// `isReady` was read, as a queue does when an operation is added to it.
    static let readinessWasRead = Flags(rawValue: 1 << 13)
    /// A composition has taken the operation on, and is the one to start it.
    static let adopted = Flags(rawValue: 1 << 14)
    /// Settled while it waits in a queue: it finishes when that queue starts it.
    static let finishesWhenStarted = Flags(rawValue: 1 << 15)
    /// It does no work of its own: it waits, or runs other operations, and is told where these run before it starts.
    static let needsNoSlot = Flags(rawValue: 1 << 16)
    /// `qualityOfService` was set.
    static let hasQualityOfService = Flags(rawValue: 1 << 17)
    /// There is an observer hub: what happens is put into it together with the step that makes it happen.
    static let observed = Flags(rawValue: 1 << 18)
    /// `name` was set.
    static let hasName = Flags(rawValue: 1 << 19)
    /// What settles it goes on after `main` returned, whatever happens: a task, say. It cannot have been forgotten.
    static let endsByItself = Flags(rawValue: 1 << 20)
    /// `main` has returned without settling it. Noted in debug builds only.
    static let mainReturned = Flags(rawValue: 1 << 21)
    /// It will be looked at again, in case that it never settles. Noted in debug builds only.
    static let watched = Flags(rawValue: 1 << 22)
    /// Another thread waits until the outcome is readable.
    static let awaited = Flags(rawValue: 1 << 23)
    /// Apple platforms: Foundation will read `isReady` when the last dependency finishes, whether or not a queue holds the
    /// operation.
    static let awaitsReadiness = Flags(rawValue: 1 << 24)
    /// Apple platforms: cancelled before it started, and observed by key: `isCancelled` turns true inside Foundation's
    /// `cancel()`, which tells the observers.
    static let announcesCancel = Flags(rawValue: 1 << 25)
  }

  @inline(__always)
  func has(_ flags: Flags) -> Bool { rawValue & flags.rawValue != 0 }

  @inline(__always)
  private mutating func insert(_ flags: Flags) { rawValue |= flags.rawValue }

  var isSettled: Bool { phase >= .settled }
  var isFinished: Bool { phase >= .finished }
  var isExecuting: Bool { has(.started) && phase > .pending && phase < .finished }

  // MARK: - Start

  enum StartAction: Equatable {
    /// Run `main`.
    case run
    /// It was cancelled before it started: settle without running `main`.
    case settleCancelled
    /// It settled while it waited in a queue, which lets go of it now: finish.
    case finish
    /// It started or finished before: do nothing.
    case ignore
  }

  mutating func start() -> StartAction {
    if has(.finishesWhenStarted), !has(.started) {
      insert(.started)
      return .finish
    }
    guard phase == .pending else {
      // A queue calls this for an operation that is just settling, too, and has let go of it by now.
      insert(.started)
      return .ignore
    }
    phase = .executing
    insert(.started)
    return has(.cancelled) ? .settleCancelled : .run
  }

  // MARK: - Cancel

  enum CancelAction: Equatable {
    /// It had not started: whoever starts it settles it.
    case mark
    /// It is executing: call the cancel hooks, once.
    case callHooks
    /// It was cancelled before, or has settled: do nothing.
    case ignore
  }

  /// - Parameter announcing: whether observers by key have to be told of it by Foundation, if it has not started.
  mutating func cancel(announcing: Bool = false) -> CancelAction {
    guard !has(.cancelled) else { return .ignore }
    switch phase {
    case .pending:
      insert(announcing ? [.cancelled, .announcesCancel] : .cancelled)
      return .mark
    case .executing:
      insert(.cancelled)
      return .callHooks
    case .settling, .settled, .finished, .announced:
      return .ignore
    }
  }

  // MARK: - Hanging

  /// `main` has returned. Returns whether to watch the operation: see ``beginWatch()``.
  mutating func returnFromMain() -> Bool {
    guard phase == .executing else { return false }
    insert(.mainReturned)
    return beginWatch()
  }

  /// Whether to see, after a while, if the operation has settled: `main` has returned, it is cancelled, and perhaps
  /// nothing settles it any more. True once.
  mutating func beginWatch() -> Bool {
    guard isSuspect, !has(.watched), !has(.endsByItself), !has(.needsNoSlot) else { return false }
    insert(.watched)
    return true
  }

  /// Whether `main` has returned, and the operation is cancelled and has not settled.
  var isSuspect: Bool { phase == .executing && has(.mainReturned) && has(.cancelled) }

  // MARK: - Settle

  enum SettleAction: Equatable {
    /// This caller settles it, with this ending, which is `cancelled` for whatever comes after a cancel.
    case win(Ending, unstarted: Bool)
    /// Another caller was first.
    case lose
  }

  mutating func settle(as ending: Ending) -> SettleAction {
    guard phase <= .executing else { return .lose }
    let unstarted = phase == .pending
    phase = .settling
    if ending == .cancelled { insert(.cancelled) }
    self.ending = has(.cancelled) ? .cancelled : ending
    return .win(self.ending, unstarted: unstarted)
  }

  enum PublishAction: Equatable {
    /// Nothing stands between settling and finishing: it has finished; tell Foundation.
    case announce
    /// Finish.
    case finish
    /// Call the completion, then finish.
    case deliverCompletion
  }

  /// Another thread wants to go on when the outcome is readable. False if there is nothing to wait for.
  mutating func awaitPublication() -> Bool {
    guard phase == .settling else { return false }
    insert(.awaited)
    return true
  }

  /// The outcome is stored.
  ///
  /// - Parameter finishing: whether the usual case, in which nothing else has to happen first, is done in one step.
  mutating func publish(finishing: Bool) -> PublishAction {
    assert(phase == .settling, "publish() in \(phase)")
    phase = .settled
    if has(.isToldWhenSettled) { return .deliverCompletion }
    guard finishing, has(.started), !has(.hasDependencies) else { return .finish }
    phase = .finished
    return .announce
  }

  /// The completion has run, but the operation waits in a queue, so it finishes when that starts it. False if the
  /// queue has started it in the meantime.
  mutating func deferFinish() -> Bool {
    assert(phase == .settled, "deferFinish() in \(phase)")
    guard !has(.started) else { return false }
    insert(.finishesWhenStarted)
    return true
  }

  mutating func finish() {
    assert(phase == .settled, "finish() in \(phase)")
    phase = .finished
  }

  /// Foundation has been told. Returns whether there are listeners to tell or release.
  mutating func announce() -> Bool {
    assert(phase == .finished, "announce() in \(phase)")
    phase = .announced
    return has(.hasListeners)
  }

  // MARK: - Listeners

  /// Somebody wants to be told once the finish is announced. False if it has been already.
  mutating func addObserver() -> Bool {
    guard phase < .announced else { return false }
    insert(.hasListeners)
    return true
  }

  /// There is an observer hub from now on. False if the finish has been announced already.
  mutating func addHub() -> Bool {
    guard phase < .announced else { return false }
    insert([.hasListeners, .observed])
    return true
  }

  /// A completion was set. False if it came after the settling, so that the setter has to call it.
  mutating func addCompletion() -> Bool {
    guard phase < .settled else { return false }
    insert(.isToldWhenSettled)
    return true
  }

  enum CancelHookAction: Equatable {
    /// Keep it: whoever cancels calls it.
    case keep
    /// The operation is executing and cancelled: the setter calls it.
    case call
    /// The operation has settled: it is never needed.
    case drop
  }

  /// An `onCancel` was set.
  mutating func addCancelHook() -> CancelHookAction {
    switch phase {
    case .executing where has(.cancelled):
      return .call
    case .pending, .executing:
      insert(.hasListeners)
      return .keep
    case .settling, .settled, .finished, .announced:
      return .drop
    }
  }

  // MARK: - Ownership

  /// A composition takes the operation on. False if another one has, or if it started or settled.
  mutating func adopt() -> Bool {
    guard phase == .pending, !has(.adopted) else { return false }
    insert(.adopted)
    return true
  }

  mutating func note(_ flags: Flags) { insert(flags) }

  // MARK: - Readiness, on Apple platforms

  /// `isReady` was read, by what may be a queue to which the operation is being added.
  mutating func noteReadiness(_ isReady: Bool) {
    // Whoever has taken the operation over has no reason to queue it, and a queue takes none that has started.
    guard phase == .pending, !has(.adopted) else { return }
    if isReady, has(.awaitsReadiness) { forgetReadiness() } else { insert(.readinessWasRead) }
  }

  /// The last dependency has told the operation, or there is none any more.
  mutating func forgetReadiness() { rawValue &= ~Flags.awaitsReadiness.rawValue }
}

extension Atomic where Value == OperationState {
  /// Feeds one input to the state machine.
  @inline(__always)
  @discardableResult
  func apply<Action>(_ input: (inout OperationState) -> Action) -> Action {
    var old = load(ordering: .acquiring)
    while true {
      var new = old
      let action = input(&new)
      if new == old { return action }
      let (exchanged, original) = weakCompareExchange(
        expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if exchanged { return action }
      old = original
    }
  }

  @inline(__always)
  var current: OperationState { load(ordering: .acquiring) }
}
