import Synchronization

/// The life of one operation, as a state machine in one word.
///
/// ```
/// pending ──start──▶ executing ──settle──▶ settling ──publish──▶ settled ──finish──▶ finished
/// ──announce──▶ announced
///    └───────────────────settle───────────────▲
/// ```
///
/// - *settling*: one caller has won, and is storing the outcome.
/// - *settled*: the outcome is readable, and the completion runs.
/// - *finished*: `isFinished` is true, and Foundation is being notified.
/// - *announced*: Foundation was notified; compositions and awaiting tasks are next.
///
/// Every input is a mutating function that returns what its caller must do. The word is in an
/// `Atomic`, so a simple operation needs no lock of its own.
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

  /// The ending; `none` before the operation is settling.
  private(set) var ending: Ending {
    get { Ending(rawValue: rawValue >> 3 & 0b11)! }
    set { rawValue = rawValue & ~0b11000 | newValue.rawValue << 3 }
  }

  /// The state besides the phase.
  struct Flags: OptionSet, Sendable {
    var rawValue: UInt32
    /// The operation was cancelled, or settled as cancelled.
    static let cancelled = Flags(rawValue: 1 << 8)
    /// `start()` was called and did not return at once.
    static let started = Flags(rawValue: 1 << 9)
    /// The settling caller calls `deliverCompletion()` before the finish: there is a completion, or
    /// this is a delay.
    static let isToldWhenSettled = Flags(rawValue: 1 << 10)
    /// There are observers or a cancel hook, to be notified or released after the announcement.
    static let hasListeners = Flags(rawValue: 1 << 11)
    /// `addDependency` was called.
    static let hasDependencies = Flags(rawValue: 1 << 12)
    /// `isReady` was read, as a queue does when an operation is added to it.
    static let readinessWasRead = Flags(rawValue: 1 << 13)
    /// A composition or another caller has adopted the operation, and starts it.
    static let adopted = Flags(rawValue: 1 << 14)
    /// The operation settled while it waits in a queue, and finishes when that queue starts it.
    static let finishesWhenStarted = Flags(rawValue: 1 << 15)
    /// The operation only waits or runs other operations, and gets their environment before it
    /// starts.
    static let needsNoSlot = Flags(rawValue: 1 << 16)
    /// `qualityOfService` was set.
    static let hasQualityOfService = Flags(rawValue: 1 << 17)
    /// There is an observer hub: each change of state posts its event in the same locked step.
    static let observed = Flags(rawValue: 1 << 18)
    /// `name` was set.
    static let hasName = Flags(rawValue: 1 << 19)
    /// The operation always settles by itself after `main` returned: a task is running, say. If
    /// other code settles the operation, the work is stopped. A composite has begun.
    static let endsByItself = Flags(rawValue: 1 << 20)
    /// `main` has returned without settling the operation. Set in debug builds only.
    static let mainReturned = Flags(rawValue: 1 << 21)
    /// ``HangWatch`` will check the operation. Set in debug builds only.
    static let watched = Flags(rawValue: 1 << 22)
    /// Another thread waits until the outcome is readable.
    static let awaited = Flags(rawValue: 1 << 23)
    /// Apple platforms: Foundation will read `isReady` when the last dependency finishes, whether
    /// or not a queue holds the operation.
    static let awaitsReadiness = Flags(rawValue: 1 << 24)
    /// Apple platforms: cancelled before the start, with key-value observers: `isCancelled` turns
    /// true inside Foundation's `cancel()`, which notifies them.
    static let announcesCancel = Flags(rawValue: 1 << 25)
    /// A search for circles of dependencies has visited the operation.
    static let searched = Flags(rawValue: 1 << 26)
    /// `removeDependency` was called.
    static let lostDependency = Flags(rawValue: 1 << 27)
    /// The caller that has adopted the operation adds it to a queue, which starts it.
    static let entersQueue = Flags(rawValue: 1 << 28)
    /// `main` may be an override, and nothing settles the operation unless that calls
    /// `super.main()`.
    static let beginsInMain = Flags(rawValue: 1 << 29)
    /// Linux: another operation of the package depends, or did, on this one.
    static let hasDependents = Flags(rawValue: 1 << 30)
    /// This composition was found to contain an operation that can start.
    static let canBegin = Flags(rawValue: 1 << 7)
    /// The queue that may hold the operation has started it.
    static let startedByQueue = Flags(rawValue: 1 << 31)
  }

  @inline(__always)
  func has(_ flag: Flags) -> Bool { hasAny(flag) }

  @inline(__always)
  func hasAny(_ flags: Flags) -> Bool { rawValue & flags.rawValue != 0 }

  @inline(__always)
  private mutating func insert(_ flags: Flags) { rawValue |= flags.rawValue }

  var isSettled: Bool { phase >= .settled }
  var isFinished: Bool { phase >= .finished }
  var isExecuting: Bool { has(.started) && phase > .pending && phase < .finished }

  // MARK: - Start

  enum StartAction: Equatable {
    /// Run `main`.
    case run
    /// The operation was cancelled before it started: settle without running `main`.
    case settleCancelled
    /// The operation settled while it waited in a queue, which starts it now: finish.
    case finish
    /// The operation started or finished before: do nothing.
    case ignore
  }

  /// - Parameter byOwner: whether the caller has adopted the operation; if not, it may be a queue.
  mutating func start(byOwner: Bool = false) -> StartAction {
    if has(.finishesWhenStarted) {
      guard !byOwner, !has(.started) else { return .ignore }
      insert(.started)
      return .finish
    }
    // A queue also calls this for an operation that is just settling, and has removed it by now.
    insert(byOwner || !has(.readinessWasRead) ? .started : [.started, .startedByQueue])
    guard phase == .pending else { return .ignore }
    phase = .executing
    return has(.cancelled) ? .settleCancelled : .run
  }

  /// Whether the operation was started, by the queue if one may hold it: so it may finish. A queue
  /// reads `isReady` before it starts an operation.
  var isStartedForQueue: Bool { has(has(.readinessWasRead) ? .startedByQueue : .started) }

  // MARK: - Cancel

  enum CancelAction: Equatable {
    /// The operation had not started: its start will settle it.
    case mark
    /// The operation is executing: call the cancel hooks, once.
    case callHooks
    /// The operation was cancelled before, or has settled: do nothing.
    case ignore
  }

  /// - Parameter announcing: whether Foundation must notify key-value observers, if the operation
  ///   has not started.
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

  /// Records that `main` has returned. Returns whether to watch the operation: see
  /// ``beginWatch()``.
  mutating func returnFromMain() -> Bool {
    guard phase == .executing else { return false }
    insert(.mainReturned)
    return beginWatch()
  }

  /// Returns true once, if the caller must check later whether the operation has settled: `main`
  /// has returned, it is cancelled, and perhaps nothing will settle it.
  mutating func beginWatch() -> Bool {
    guard isSuspect, !has(.watched), !has(.endsByItself), !has(.needsNoSlot) || has(.beginsInMain) else { return false }
    insert(.watched)
    return true
  }

  /// Whether `main` has returned and the cancelled operation has not settled.
  var isSuspect: Bool { phase == .executing && has(.mainReturned) && has(.cancelled) }

  // MARK: - Settle

  enum SettleAction: Equatable {
    /// This caller settles the operation, with this ending: `cancelled` if it was cancelled before.
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
    /// The operation has finished in the same step: notify Foundation.
    case announce
    /// Finish.
    case finish
    /// Call the completion, then finish.
    case deliverCompletion
  }

  /// Prepares to release the dependencies. Returns false if there are none.
  mutating func forgetDependencies() -> Bool {
    guard has(.hasDependencies) else { return false }
    rawValue &= ~Flags.hasDependencies.rawValue
    return true
  }

  /// Records that another thread waits for the outcome. Returns false if there is nothing to wait
  /// for.
  mutating func awaitPublication() -> Bool {
    guard phase == .settling else { return false }
    insert(.awaited)
    return true
  }

  /// Makes the stored outcome readable.
  ///
  /// - Parameter finishing: whether to finish in one step in the usual case, in which nothing must
  ///   happen before.
  mutating func publish(finishing: Bool) -> PublishAction {
    assert(phase == .settling, "publish() in \(phase)")
    phase = .settled
    if has(.isToldWhenSettled) { return .deliverCompletion }
    guard finishing, isStartedForQueue, !has(.hasDependencies) else { return .finish }
    phase = .finished
    return .announce
  }

  /// Defers the finish of an operation in a queue, after its completion, until the queue starts it.
  /// Returns false if the queue has started it in the meantime.
  mutating func deferFinish() -> Bool {
    assert(phase == .settled, "deferFinish() in \(phase)")
    guard !isStartedForQueue else { return false }
    rawValue &= ~Flags.started.rawValue
    insert(.finishesWhenStarted)
    return true
  }

  mutating func finish() {
    assert(phase == .settled, "finish() in \(phase)")
    phase = .finished
  }

  /// Called after Foundation was notified. Returns whether there are listeners to notify or
  /// release.
  mutating func announce() -> Bool {
    assert(phase == .finished, "announce() in \(phase)")
    phase = .announced
    return has(.hasListeners)
  }

  // MARK: - Listeners

  /// Adds an observer of the announcement. Returns false if that has happened already.
  mutating func addObserver() -> Bool {
    guard phase < .announced else { return false }
    insert(.hasListeners)
    return true
  }

  /// Adds an observer hub. Returns false if the finish was announced already.
  mutating func addHub() -> Bool {
    guard phase < .announced else { return false }
    insert([.hasListeners, .observed])
    return true
  }

  /// Adds a completion. Returns false if the operation has settled, so that the setter calls it.
  mutating func addCompletion() -> Bool {
    guard phase < .settled else { return false }
    insert(.isToldWhenSettled)
    return true
  }

  enum CancelHookAction: Equatable {
    /// Keep the hook: the caller of `cancel()` calls it.
    case keep
    /// The operation is executing and cancelled: the setter calls the hook.
    case call
    /// The operation has settled: the hook is never needed.
    case drop
  }

  /// Adds an `onCancel` hook.
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

  /// Adopts the operation. Returns false if it was adopted, started or settled before.
  ///
  /// - Parameter entersQueue: whether the caller adds the operation to a queue. Noted in the same
  ///   step: if other code settles it before it is added, it finishes when that queue starts it.
  mutating func adopt(entersQueue: Bool = false) -> Bool {
    guard phase == .pending, !has(.adopted) else { return false }
    insert(entersQueue ? [.adopted, .entersQueue, .readinessWasRead] : .adopted)
    return true
  }

  mutating func note(_ flags: Flags) { insert(flags) }

  // MARK: - Readiness, on Apple platforms

  /// Records that `isReady` was read, perhaps by a queue to which the operation is being added.
  mutating func noteReadiness(_ isReady: Bool) {
    // An adopted operation is not queued, and a queue takes no operation that has started.
    guard phase == .pending, !has(.adopted) else { return }
    if isReady, has(.awaitsReadiness) { forgetReadiness() } else { insert(.readinessWasRead) }
  }

  /// Called when the last dependency has notified the operation, or was removed.
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
